import { type Context, context, type Tracer, trace } from '@opentelemetry/api';
import type { TraceIds } from '../base/bus.ts';
import type { CallEvent } from '../base/events.ts';
import { Crowd, type Timers } from './crowd.ts';
import { type Ended, endSpan, startSpan } from './span.ts';

/** Which waits become spans, in resolved form. Refusals always do. */
export interface SpanRule {
  /** Calls that did not wait, too. */
  readonly always: boolean;
  /** Only waits longer than this, in milliseconds; below 0: all. */
  readonly longerThanMs: number;
}

/** A call that waits. Nothing of the SDK is held for it: its span is made, with its true start, when the wait ends. */
interface Waiting {
  readonly queued: CallEvent;
  readonly parent: Context;
}

/** The spans of calls that wait or are refused. */
export class WaitSpans {
  readonly #rule: SpanRule;
  readonly #waiting = new Map<number, Waiting>();
  readonly #crowd: Crowd;
  #tracer: Tracer | undefined;

  constructor(rule: SpanRule, timers: Timers) {
    this.#rule = rule;
    this.#crowd = new Crowd(timers, () => this.#tracer);
  }

  /** Whether spans are recorded now. */
  get isOn(): boolean {
    return this.#tracer !== undefined;
  }

  /** Waits begun and not ended, and endings that have no span yet. */
  get size(): number {
    return this.#waiting.size + this.#crowd.size;
  }

  /** Changes the tracer; without one, `at` (epoch ms) ends what waits, for nobody may come to end it. */
  use(tracer: Tracer | undefined, at: number): void {
    if (tracer === undefined) {
      for (const { queued, parent } of this.#waiting.values()) {
        const event: CallEvent = { ...queued, waitedMs: Math.max(at - queued.at, 0) };
        this.#crowd.add({ opening: queued, event, startedAt: queued.at, parent });
      }
      this.#waiting.clear();
    }
    this.#crowd.flush();
    this.#tracer = tracer;
  }

  begin(event: CallEvent): void {
    if (this.isOn) this.#waiting.set(event.callId, { queued: event, parent: context.active() });
  }

  /** Ends the wait of a call that started, was refused or was aborted; returns the ids kept from when it began. */
  end(event: CallEvent): TraceIds | undefined {
    const waiting = this.#waiting.get(event.callId);
    if (waiting === undefined) {
      if (event.type === 'refused' || this.#rule.always) {
        const startedAt = event.at - event.waitedMs;
        this.#ended({ opening: event, event, startedAt, parent: context.active() });
      }
      return undefined;
    }
    this.#waiting.delete(event.callId);
    const { queued, parent } = waiting;
    if (event.type === 'refused' || event.waitedMs > this.#rule.longerThanMs) {
      this.#ended({ opening: queued, event, startedAt: queued.at, parent });
    }
    return idsIn(parent);
  }

  #ended(ended: Ended): void {
    const tracer = this.#tracer;
    if (tracer === undefined) return;
    if (ended.event.type === 'started') endSpan(startSpan(tracer, ended), ended);
    else this.#crowd.add(ended);
  }
}

/** Ids of the span in a context. */
export function idsIn(of: Context): TraceIds | undefined {
  const ids = trace.getSpanContext(of);
  return ids === undefined ? undefined : { traceId: ids.traceId, spanId: ids.spanId };
}
