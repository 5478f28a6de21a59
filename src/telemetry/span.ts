import { type Attributes, type Context, type HrTime, type Span, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import type { CallEvent } from '../base/events.ts';
import { SPAN_ATTRIBUTE, WAIT_SPAN } from './names.ts';

/** A wait that has ended. */
export interface Ended {
  /** What was known when the wait began; the same event as `event` where there was none. */
  readonly opening: CallEvent;
  /** What ended it. */
  readonly event: CallEvent;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly parent: Context;
}

export function startSpan(tracer: Tracer, { opening, event, startedAt, parent }: Ended): Span {
  const attributes = attributesOf(event);
  if (opening.position !== undefined) attributes[SPAN_ATTRIBUTE.position] = opening.position;
  const tool = event.tool ?? opening.tool;
  if (tool !== undefined) attributes[SPAN_ATTRIBUTE.tool] = tool;
  const limit = limitOf(opening, event);
  if (limit !== undefined) attributes[SPAN_ATTRIBUTE.limitedBy] = limit;
  return tracer.startSpan(WAIT_SPAN, { attributes, startTime: hrTime(startedAt) }, parent);
}

/** What every call that shares an end has in common. */
export function attributesOf({ downstream, type, waitedMs, code }: CallEvent): Attributes {
  const attributes: Attributes = {
    [SPAN_ATTRIBUTE.downstream]: downstream,
    [SPAN_ATTRIBUTE.peer]: downstream,
    [SPAN_ATTRIBUTE.waitMs]: waitedMs,
  };
  // A wait that nobody came to end has no outcome.
  if (type !== 'queued') attributes[SPAN_ATTRIBUTE.outcome] = type;
  if (type === 'refused' && code !== undefined) attributes[SPAN_ATTRIBUTE.errorType] = code;
  return attributes;
}

/** What stood in the way: at the end, where the end says so, else when the wait began. */
export function limitOf(opening: CallEvent, event: CallEvent): string | undefined {
  return event.limit ?? event.limitedBy ?? opening.limit ?? opening.limitedBy;
}

export function endSpan(span: Span, { event, startedAt }: Ended): void {
  if (event.type === 'refused') {
    const { code } = event;
    span.setStatus({ code: SpanStatusCode.ERROR, ...(code === undefined ? {} : { message: code }) });
  }
  // The end is the start plus the monotonic wait: a wall clock that steps back would end it before it began.
  span.end(hrTime(startedAt + event.waitedMs));
}

/** As seconds and nanoseconds: a plain number would be guessed to be epoch or monotonic time by its size. */
export function hrTime(epochMs: number): HrTime {
  const us = Math.round(epochMs * 1e3);
  const seconds = Math.floor(us / 1e6);
  return [seconds, (us - seconds * 1e6) * 1e3];
}
