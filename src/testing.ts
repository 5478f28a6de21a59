export { ManualClock, type SuspendOptions } from './testing/manual-clock.ts';
