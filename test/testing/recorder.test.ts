import { describe, expect, it } from 'vitest';
import type { CallEvent, DispatcherEvent } from '../../src/base/events.ts';
import { recordEvents } from '../../src/testing/recorder.ts';

function source() {
  const listeners = new Set<(event: DispatcherEvent) => void>();
  return {
    listeners,
    subscribe: (listener: (event: DispatcherEvent) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    call: (type: CallEvent['type'], callId: number, more: Partial<CallEvent> = {}) => {
      const event: CallEvent = {
        at: 0,
        downstream: 'd',
        type,
        callId,
        priority: 'normal',
        waitedMs: 0,
        ...more,
      };
      for (const listener of listeners) listener(event);
    },
    notice: () => {
      for (const listener of listeners) listener({ at: 0, downstream: 'd', type: 'overdue', detail: 'x' });
    },
  };
}

describe('recordEvents', () => {
  it('keeps every event, and the same by call, by start and by end', () => {
    const from = source();
    const record = recordEvents(from);
    from.call('queued', 1);
    from.call('started', 2);
    from.notice();
    from.call('started', 1);
    from.call('settled', 2, { outcome: 'success' });
    from.call('refused', 3, { code: 'RATE_LIMITED' });
    from.call('aborted', 1);
    expect(record.events).toHaveLength(7);
    expect(record.starts.map((event) => event.callId)).toEqual([2, 1]);
    expect(record.ends.map((event) => event.type)).toEqual(['settled', 'refused', 'aborted']);
    expect(record.calls.get(1)?.queued?.type).toBe('queued');
    expect(record.calls.get(1)?.end?.type).toBe('aborted');
    expect(record.calls.get(3)?.started).toBeUndefined();
    expect(record.of('overdue')).toHaveLength(1);
    expect(record.faults).toEqual([]);
  });

  it('names what no dispatcher may do', () => {
    const from = source();
    const record = recordEvents(from);
    from.call('started', 1);
    from.call('started', 1);
    from.call('queued', 1);
    from.call('settled', 1);
    from.call('settled', 1);
    from.call('started', 1);
    expect(record.faults).toEqual([
      'call 1: started twice',
      'call 1: queued after started',
      'call 1: settled after settled',
      'call 1: started after settled',
    ]);
  });

  it('stops when it is told', () => {
    const from = source();
    const record = recordEvents(from);
    record.stop();
    from.notice();
    expect([record.events, from.listeners.size]).toEqual([[], 0]);
  });
});
