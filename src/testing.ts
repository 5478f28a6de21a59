export {
  type DispatcherDouble,
  type DoubleCall,
  type DoubleOptions,
  openDispatcher,
  refusingDispatcher,
} from './testing/doubles.ts';
export {
  type FakeCall,
  type FakeConsumer,
  FakeDownstream,
  type FakeDownstreamOptions,
  type FakeHint,
} from './testing/fake-downstream.ts';
export type { FakeHeaders, FakeQuota } from './testing/fake-headers.ts';
export type { FakeLimit } from './testing/fake-limits.ts';
export { ManualClock, type SuspendOptions } from './testing/manual-clock.ts';
export { type EventRecord, type EventSource, type RecordedCall, recordEvents } from './testing/recorder.ts';
export type { RefusalCode, RefusalFacts } from './testing/refusal.ts';
export { type Start, windowMax } from './testing/window-max.ts';
