import { context, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallEvent } from '../../src/base/events.ts';
import { createTelemetry, type TelemetryOptions } from '../../src/telemetry/telemetry.ts';
import { AT, callEvent, host, lengthOf, SpanLab } from './harness.ts';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => context.disable());

function bench(waitSpans?: TelemetryOptions['waitSpans']) {
  const lab = new SpanLab();
  const state = host();
  const telemetry = createTelemetry(state, { tracerProvider: lab.provider, waitSpans });
  return { lab, telemetry, state };
}

/** A refusal has its span at the end of its turn. */
const turn = (): Promise<void> => Promise.resolve();

const queued = (fields: Partial<CallEvent> = {}): CallEvent =>
  callEvent('queued', {
    limitedBy: 'quota',
    limit: 'quota:60/minute',
    position: 3,
    tool: 'get_delivery_status',
    ...fields,
  });

describe('the wait span', () => {
  test('is a child of the caller, lasts exactly the wait and says why', () => {
    const { lab, telemetry } = bench();
    lab.within('caller', () => telemetry.take(queued()));
    lab.within('somebody else', () => telemetry.take(callEvent('started', { at: AT - 99_000, waitedMs: 1_250.5 })));
    const [span, ...more] = lab.waits;
    expect(more).toEqual([]);
    const caller = lab.span('caller').spanContext();
    expect(span?.parentSpanContext?.spanId).toBe(caller.spanId);
    expect(span?.spanContext().traceId).toBe(caller.traceId);
    expect(span?.kind).toBe(SpanKind.INTERNAL);
    expect(span?.startTime).toEqual([AT / 1_000, 0]);
    expect(lengthOf(span!)).toBe(1_250.5);
    expect(span?.status.code).toBe(SpanStatusCode.UNSET);
    expect(span?.attributes).toEqual({
      downstream: 'carrier',
      'service.peer.name': 'carrier',
      'downstream.wait_ms': 1_250.5,
      'downstream.outcome': 'started',
      'downstream.limited_by': 'quota:60/minute',
      'downstream.queue.position': 3,
      'gen_ai.tool.name': 'get_delivery_status',
    });
    expect(span?.instrumentationScope).toMatchObject({ name: 'penstock', version: '1.2.3' });
  });

  test('is a root where the caller has no span', () => {
    const { lab, telemetry } = bench();
    telemetry.take(queued());
    telemetry.take(callEvent('started', { waitedMs: 5 }));
    expect(lab.waits[0]?.parentSpanContext).toBeUndefined();
  });

  test('of a refused waiter is an error with the code, and names what refused it', async () => {
    const { lab, telemetry } = bench();
    telemetry.take(queued());
    telemetry.take(callEvent('refused', { waitedMs: 40, code: 'DEADLINE_EXCEEDED', limit: 'hold:retry-after' }));
    await turn();
    expect(lab.waits[0]?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'DEADLINE_EXCEEDED' });
    expect(lab.waits[0]?.attributes).toMatchObject({
      'error.type': 'DEADLINE_EXCEEDED',
      'downstream.outcome': 'refused',
      'downstream.limited_by': 'hold:retry-after',
      'downstream.queue.position': 3,
    });
  });

  test('of a call refused on entry has no length and the caller as its parent', async () => {
    const { lab, telemetry } = bench();
    lab.within('caller', () =>
      telemetry.take(callEvent('refused', { code: 'RATE_LIMITED', limitedBy: 'hold', tool: 'send' })),
    );
    await turn();
    const [span] = lab.waits;
    expect(lengthOf(span!)).toBe(0);
    expect(span?.parentSpanContext?.spanId).toBe(lab.span('caller').spanContext().spanId);
    expect(span?.attributes).toMatchObject({ 'error.type': 'RATE_LIMITED', 'downstream.limited_by': 'hold' });
    expect(span?.attributes['gen_ai.tool.name']).toBe('send');
  });

  test('of an aborted waiter is no error', async () => {
    const { lab, telemetry } = bench();
    telemetry.take(queued());
    telemetry.take(callEvent('aborted', { waitedMs: 3, started: false }));
    await turn();
    expect(lab.waits[0]?.status.code).toBe(SpanStatusCode.UNSET);
    expect(lab.waits[0]?.attributes['downstream.outcome']).toBe('aborted');
  });
});

describe('which waits become spans', () => {
  const play = (telemetry: ReturnType<typeof bench>['telemetry']): void => {
    telemetry.take(callEvent('started', { callId: 1 }));
    telemetry.take(callEvent('settled', { callId: 1, outcome: 'success', callMs: 2 }));
    telemetry.take(queued({ callId: 2 }));
    telemetry.take(callEvent('started', { callId: 2, waitedMs: 100 }));
    telemetry.take(queued({ callId: 3 }));
    telemetry.take(callEvent('started', { callId: 3, waitedMs: 900 }));
    telemetry.take(callEvent('refused', { callId: 4, code: 'RATE_LIMITED' }));
    telemetry.take(callEvent('aborted', { callId: 5 }));
    telemetry.take(queued({ callId: 6 }));
    telemetry.take(callEvent('aborted', { callId: 6, waitedMs: 2 }));
    telemetry.take(queued({ callId: 7 }));
    telemetry.take(callEvent('refused', { callId: 7, waitedMs: 2, code: 'RATE_LIMITED' }));
  };
  const lengths = (lab: SpanLab): unknown[] =>
    lab.waits.map((span) => [span.attributes['downstream.outcome'], lengthOf(span)]);

  test("'waiting': those that wait or are refused", async () => {
    const { lab, telemetry } = bench();
    play(telemetry);
    await turn();
    expect(lengths(lab)).toEqual([
      ['started', 100],
      ['started', 900],
      ['refused', 0],
      ['aborted', 2],
      ['refused', 2],
    ]);
  });

  test("'always': every call, which are then all asked for", async () => {
    const { lab, telemetry } = bench('always');
    expect(telemetry.isMeasuring()).toBe(true);
    expect(bench().telemetry.isMeasuring()).toBe(false);
    play(telemetry);
    await turn();
    expect(lengths(lab)).toHaveLength(7);
    expect(lengths(lab)[0]).toEqual(['started', 0]);
  });

  test('longerThan: long waits, with their true start and parent; refusals always', async () => {
    const { lab, telemetry } = bench({ longerThan: '250ms' });
    lab.within('caller', () => play(telemetry));
    await turn();
    expect(lengths(lab)).toEqual([
      ['started', 900],
      ['refused', 0],
      ['refused', 2],
    ]);
    expect(lab.waits[0]?.startTime).toEqual([AT / 1_000, 0]);
    const caller = lab.span('caller').spanContext().spanId;
    expect(lab.waits.map((span) => span.parentSpanContext?.spanId)).toEqual([caller, caller, caller]);
    expect(lab.waits[0]?.attributes['downstream.queue.position']).toBe(3);
  });

  test('longerThan keeps the context of the call that began to wait, not of what ended it', () => {
    const { lab, telemetry } = bench({ longerThan: 10 });
    lab.within('caller', () => telemetry.take(queued()));
    lab.within('timer', () => telemetry.take(callEvent('started', { waitedMs: 11 })));
    expect(lab.waits[0]?.parentSpanContext?.spanId).toBe(lab.span('caller').spanContext().spanId);
  });

  test('a longerThan that is no duration is refused when the dispatcher is made', () => {
    expect(() => bench({ longerThan: 'soon' })).toThrow(RangeError);
  });
});

describe('nothing stays behind', () => {
  const ends: Record<string, CallEvent[]> = {
    'started and settled': [
      callEvent('started', { waitedMs: 1 }),
      callEvent('settled', { waitedMs: 1, outcome: 'success', callMs: 1 }),
    ],
    'started and failed': [
      callEvent('started', { waitedMs: 1 }),
      callEvent('settled', { outcome: 'failed', callMs: 1 }),
    ],
    'started, deadline while it ran': [
      callEvent('started', { waitedMs: 1 }),
      callEvent('settled', { code: 'DEADLINE_EXCEEDED', outcome: 'cancelled', callMs: 1 }),
    ],
    'started and aborted': [callEvent('started', { waitedMs: 1 }), callEvent('aborted', { started: true, callMs: 1 })],
    'refused while it waited': [callEvent('refused', { waitedMs: 1, code: 'RATE_LIMIT_QUEUE_TIMEOUT' })],
    'refused by close': [callEvent('refused', { waitedMs: 1, code: 'DISPATCHER_CLOSED' })],
    'aborted while it waited': [callEvent('aborted', { waitedMs: 1, started: false })],
  };
  const rules: NonNullable<TelemetryOptions['waitSpans']>[] = ['waiting', 'always', { longerThan: 0 }];

  for (const [name, events] of Object.entries(ends)) {
    test(`${name}: one span, none open, no ids kept`, async () => {
      for (const rule of rules) {
        const { lab, telemetry } = bench(rule);
        lab.within('caller', () => {
          for (const event of [queued(), ...events]) {
            telemetry.take(event);
            telemetry.traceOf(event);
          }
        });
        await turn();
        expect(lab.waits, JSON.stringify(rule)).toHaveLength(1);
        expect(lab.open).toBe(0);
        expect(telemetry.kept()).toBe(0);
      }
    });
  }

  test('close ends what waits, without an outcome, and later events begin nothing', () => {
    const { lab, telemetry, state } = bench();
    telemetry.take(queued());
    expect([lab.open, telemetry.kept()]).toEqual([0, 1]);
    state.at = AT + 250;
    telemetry.close();
    expect(lab.waits.map((span) => [lengthOf(span), span.attributes['downstream.outcome']])).toEqual([
      [250, undefined],
    ]);
    expect(lab.open).toBe(0);
    expect(telemetry.kept()).toBe(0);
    telemetry.take(callEvent('started', { waitedMs: 4 }));
    telemetry.take(queued({ callId: 2 }));
    expect(lab.waits).toHaveLength(1);
    expect(telemetry.kept()).toBe(0);
  });
});

describe('whose call it was', () => {
  const outside = (lab: SpanLab, telemetry: ReturnType<typeof bench>['telemetry'], event: CallEvent) =>
    lab.within('timer', () => {
      telemetry.take(event);
      return telemetry.traceOf(event);
    });

  test('is read from the caller while it is there', () => {
    const { lab, telemetry } = bench();
    const told = lab.within('caller', () =>
      [queued(), callEvent('refused', { callId: 2 }), callEvent('settled', { callId: 3 })].map((event) => {
        telemetry.take(event);
        return telemetry.traceOf(event)?.spanId;
      }),
    );
    const caller = lab.span('caller').spanContext();
    expect(told).toEqual([caller.spanId, caller.spanId, caller.spanId]);
    expect(lab.within('other', () => telemetry.current()?.traceId)).toBe(lab.span('other').spanContext().traceId);
    expect(telemetry.current()).toBeUndefined();
  });

  test('is remembered where a timer or an abort ends the wait', () => {
    for (const type of ['started', 'refused', 'aborted'] as const) {
      const { lab, telemetry } = bench();
      lab.within('caller', () => telemetry.take(queued()));
      const told = outside(lab, telemetry, callEvent(type, { waitedMs: 9 }));
      expect(told?.spanId, type).toBe(lab.span('caller').spanContext().spanId);
    }
  });

  test('is remembered where a deadline or an abort ends a call that runs', () => {
    for (const end of [
      callEvent('settled', { code: 'DEADLINE_EXCEEDED', callMs: 5 }),
      callEvent('aborted', { started: true, callMs: 5 }),
    ]) {
      const { lab, telemetry } = bench();
      lab.within('caller', () => {
        const started = callEvent('started');
        telemetry.take(started);
        telemetry.traceOf(started);
      });
      expect(outside(lab, telemetry, end)?.spanId).toBe(lab.span('caller').spanContext().spanId);
      const unknown = { ...end, callId: 77 };
      expect(outside(lab, telemetry, unknown)).toBeUndefined();
    }
  });

  test('a hold or an alert is nobody’s call', () => {
    const { lab, telemetry } = bench();
    const event = { at: AT, downstream: 'carrier', type: 'alert', detail: '429' } as const;
    expect(lab.within('caller', () => telemetry.traceOf(event))).toBeUndefined();
  });

  test('the ids of calls whose end nobody was told are bounded', () => {
    const { lab, telemetry } = bench();
    lab.within('caller', () => {
      for (let callId = 0; callId < 10_500; callId++) {
        const started = callEvent('started', { callId });
        telemetry.take(started);
        telemetry.traceOf(started);
      }
    });
    expect(telemetry.kept()).toBe(10_000);
  });
});
