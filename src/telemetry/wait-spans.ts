import {
  type Attributes,
  type Context,
  context,
  type HrTime,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { TraceIds } from '../base/bus.ts';
import type { CallEvent } from '../base/events.ts';
import { SPAN_ATTRIBUTE, WAIT_SPAN } from './names.ts';

/** Which waits become spans, in resolved form. Refusals always do. */
export interface SpanRule {
  /** Calls that did not wait, too. */
  readonly always: boolean;
  /** Only waits longer than this, in milliseconds; below 0: all. */
  readonly longerThanMs: number;
}

/** A call that waits. `span` is absent where only its length will say whether it becomes one. */
interface Waiting {
  readonly queued: CallEvent;
  readonly parent: Context;
  readonly span: Span | undefined;
}

/** The spans of calls that wait or are refused. */
export class WaitSpans {
  readonly #rule: SpanRule;
  readonly #waiting = new Map<number, Waiting>();
  #tracer: Tracer | undefined;

  constructor(rule: SpanRule) {
    this.#rule = rule;
  }

  /** Whether spans are recorded now. */
  get isOn(): boolean {
    return this.#tracer !== undefined;
  }

  /** Waits begun and not ended. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Changes the tracer; without one, `at` (epoch ms) ends what is open, for nobody may come to end it. */
  use(tracer: Tracer | undefined, at: number): void {
    this.#tracer = tracer;
    if (tracer !== undefined) return;
    for (const { queued, span } of this.#waiting.values()) span?.end(hrTime(Math.max(at, queued.at)));
    this.#waiting.clear();
  }

  begin(event: CallEvent): void {
    const tracer = this.#tracer;
    if (tracer === undefined) return;
    const parent = context.active();
    const isDecided = this.#rule.longerThanMs < 0;
    const span = isDecided ? startSpan(tracer, event, hrTime(event.at), parent) : undefined;
    this.#waiting.set(event.callId, { queued: event, parent, span });
  }

  /** Ends the wait of a call that started, was refused or was aborted; returns the ids kept from when it began. */
  end(event: CallEvent): TraceIds | undefined {
    const waiting = this.#waiting.get(event.callId);
    if (waiting === undefined) {
      this.#atOnce(event);
      return undefined;
    }
    this.#waiting.delete(event.callId);
    const { queued, parent } = waiting;
    const span = waiting.span ?? this.#late(event, queued, parent);
    // The end is the start plus the monotonic wait: a wall clock that steps back would end it before it began.
    if (span !== undefined) finish(span, event, queued.at + event.waitedMs);
    return idsIn(parent);
  }

  #late(event: CallEvent, queued: CallEvent, parent: Context): Span | undefined {
    const isWanted = event.type === 'refused' || event.waitedMs > this.#rule.longerThanMs;
    if (this.#tracer === undefined || !isWanted) return undefined;
    return startSpan(this.#tracer, queued, hrTime(queued.at), parent);
  }

  #atOnce(event: CallEvent): void {
    if (this.#tracer === undefined || (event.type !== 'refused' && !this.#rule.always)) return;
    const startedAt = hrTime(event.at - event.waitedMs);
    finish(startSpan(this.#tracer, event, startedAt, context.active()), event, event.at);
  }
}

/** Ids of the span in a context. */
export function idsIn(of: Context): TraceIds | undefined {
  const ids = trace.getSpanContext(of);
  return ids === undefined ? undefined : { traceId: ids.traceId, spanId: ids.spanId };
}

function startSpan(tracer: Tracer, event: CallEvent, startTime: HrTime, parent: Context): Span {
  const attributes: Attributes = { [SPAN_ATTRIBUTE.downstream]: event.downstream };
  if (event.position !== undefined) attributes[SPAN_ATTRIBUTE.position] = event.position;
  if (event.tool !== undefined) attributes[SPAN_ATTRIBUTE.tool] = event.tool;
  const limit = event.limit ?? event.limitedBy;
  if (limit !== undefined) attributes[SPAN_ATTRIBUTE.limitedBy] = limit;
  return tracer.startSpan(WAIT_SPAN, { attributes, startTime }, parent);
}

function finish(span: Span, event: CallEvent, endedAt: number): void {
  span.setAttribute(SPAN_ATTRIBUTE.waitMs, event.waitedMs);
  span.setAttribute(SPAN_ATTRIBUTE.outcome, event.type);
  if (event.type === 'refused') {
    const limit = event.limit ?? event.limitedBy;
    if (limit !== undefined) span.setAttribute(SPAN_ATTRIBUTE.limitedBy, limit);
    if (event.code !== undefined) {
      span.setAttribute(SPAN_ATTRIBUTE.errorType, event.code);
      span.setStatus({ code: SpanStatusCode.ERROR, message: event.code });
    } else span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(hrTime(endedAt));
}

/** As seconds and nanoseconds: a plain number would be guessed to be epoch or monotonic time by its size. */
function hrTime(epochMs: number): HrTime {
  const us = Math.round(epochMs * 1e3);
  const seconds = Math.floor(us / 1e6);
  return [seconds, (us - seconds * 1e6) * 1e3];
}
