import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { bar } from './histogram.ts';
import { type Look, seconds } from './look.ts';

const WIDTH = 36;
const NAME_WIDTH = 34;

/** All spans of the trace whose `downstream.wait` is the median of those given; none where nothing waited. */
export function medianTrace(spans: readonly ReadableSpan[]): ReadableSpan[] {
  const waits = spans.filter((span) => span.name === 'downstream.wait');
  waits.sort((a, b) => ms(a.duration) - ms(b.duration));
  const median = waits[Math.floor(waits.length / 2)];
  if (median === undefined) return [];
  const { traceId } = median.spanContext();
  return spans
    .filter((span) => span.spanContext().traceId === traceId)
    .sort((a, b) => ms(a.startTime) - ms(b.startTime) || depth(a, spans) - depth(b, spans));
}

/** One trace as a trace viewer draws it: a line for each span, indented under its parent, attributes below. */
export function waterfall(trace: readonly ReadableSpan[], look: Look): string {
  const root = trace[0];
  if (root === undefined) return '  (no call had to wait)';
  const totalMs = Math.max(ms(root.duration), 1);
  const lines = trace.flatMap((span) => {
    const indent = '  '.repeat(depth(span, trace));
    const before = Math.min(WIDTH - 1, Math.round(((ms(span.startTime) - ms(root.startTime)) / totalMs) * WIDTH));
    const drawn = bar(ms(span.duration) / totalMs, WIDTH).slice(0, WIDTH - before);
    const name = `${indent}${span.name}`.padEnd(NAME_WIDTH);
    const time = seconds(ms(span.duration)).padStart(8);
    const attributes = Object.entries(span.attributes).map(
      ([key, value]) => `  ${indent}  ${look.dim(`${key} = ${shown(value)}`)}`,
    );
    return [`  ${name}${time}  ${' '.repeat(before)}${look.cyan(drawn)}`, ...attributes];
  });
  return lines.join('\n');
}

/** A span as plain JSON. Times in milliseconds. */
export function spanJson(span: ReadableSpan): object {
  return {
    name: span.name,
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
    parentSpanId: span.parentSpanContext?.spanId,
    durationMs: ms(span.duration),
    attributes: span.attributes,
  };
}

function depth(span: ReadableSpan, trace: readonly ReadableSpan[]): number {
  const parentId = span.parentSpanContext?.spanId;
  const parent = trace.find((other) => other.spanContext().spanId === parentId);
  return parent === undefined ? 0 : 1 + depth(parent, trace);
}

function shown(value: unknown): string {
  return typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(1) : String(value);
}

function ms([whole, nanos]: HrTime): number {
  return whole * 1_000 + nanos / 1e6;
}
