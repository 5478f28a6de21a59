import type { CallEvent, DispatcherEvent } from '../base/events.ts';

/** What one call went through. */
export interface RecordedCall {
  readonly callId: number;
  readonly queued?: CallEvent;
  readonly started?: CallEvent;
  /** `settled`, `refused` or `aborted`. */
  readonly end?: CallEvent;
}

/** Events as they came, and the same by call. */
export interface EventRecord {
  readonly events: readonly DispatcherEvent[];
  readonly calls: ReadonlyMap<number, RecordedCall>;
  /** Events that ended a call, in order. */
  readonly ends: readonly CallEvent[];
  readonly starts: readonly CallEvent[];
  /** Whatever no dispatcher may do: a call that ends or starts twice, or goes on after its end. */
  readonly faults: readonly string[];
  /** All events of one type. */
  readonly of: <T extends DispatcherEvent['type']>(type: T) => Extract<DispatcherEvent, { readonly type: T }>[];
  readonly stop: () => void;
}

/** A dispatcher, or anything else that delivers its events. */
export interface EventSource {
  readonly subscribe: (listener: (event: DispatcherEvent) => void) => () => void;
}

const ENDS = new Set(['settled', 'refused', 'aborted']);
const CALLS = new Set(['queued', 'started', ...ENDS]);

/**
 * Listens from now on and keeps everything.
 *
 * @example
 * const record = recordEvents(dispatcher);
 * await runTheAgent();
 * expect(record.ends.map((end) => end.code ?? end.outcome)).toEqual(['success', 'DEADLINE_EXCEEDED']);
 */
export function recordEvents(source: EventSource): EventRecord {
  const events: DispatcherEvent[] = [];
  const calls = new Map<number, RecordedCall>();
  const ends: CallEvent[] = [];
  const starts: CallEvent[] = [];
  const faults: string[] = [];

  const takeCall = (event: CallEvent): void => {
    const call = calls.get(event.callId) ?? { callId: event.callId };
    const part = ENDS.has(event.type) ? 'end' : (event.type as 'queued' | 'started');
    if (call.end !== undefined) faults.push(`call ${event.callId}: ${event.type} after ${call.end.type}`);
    else if (call[part] !== undefined) faults.push(`call ${event.callId}: ${event.type} twice`);
    else if (part === 'queued' && call.started !== undefined) faults.push(`call ${event.callId}: queued after started`);
    if (part === 'end') ends.push(event);
    if (part === 'started') starts.push(event);
    calls.set(event.callId, { ...call, [part]: event });
  };

  const stop = source.subscribe((event) => {
    events.push(event);
    if (CALLS.has(event.type)) takeCall(event as CallEvent);
  });

  return {
    events,
    calls,
    ends,
    starts,
    faults,
    of: (type) => events.filter((event) => event.type === type) as never,
    stop,
  };
}
