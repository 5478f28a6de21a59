import { diag, type Span, TraceFlags, type Tracer, trace } from '@opentelemetry/api';
import { SPAN_ATTRIBUTE, WAIT_SPAN } from './names.ts';
import { attributesOf, type Ended, endSpan, hrTime, limitOf, startSpan } from './span.ts';

/** So many endings of one turn have a span each. More are a crowd, which has one span per trace. */
const MOST_APART = 16;
/** Spans of one crowd: half of what a batch processor holds (2,048), so that the spans of everybody else find room. */
const MOST_SPANS = 1_024;
/** A crowd's endings come in slices, a few milliseconds apart; it is complete when for so long none has come. */
const QUIET_MS = 20;
/** And at the latest after so long, for refusals may never cease. */
const LONGEST_MS = 1_000;

/** What runs later. */
export interface Timers {
  /** Returns what cancels it. */
  readonly setTimer: (delayMs: number, fire: () => void) => () => void;
}

/** The endings of one trace that share a downstream, an outcome and a code. */
interface Group {
  readonly first: Ended;
  longest: Ended;
  count: number;
  leastMs: number;
  sumMs: number;
  /** While all have the same. */
  tool: string | undefined;
  limit: string | undefined;
}

/**
 * Refusals and aborts on their way to becoming spans. A pause, a close, a shared signal or an expiry ends very
 * many waits at once; a span for each would overrun the SDK's queue, which drops what it cannot hold.
 */
export class Crowd {
  readonly #timers: Timers;
  readonly #tracer: () => Tracer | undefined;
  #apart: Ended[] = [];
  #groups: Map<string, Group> | undefined;
  #size = 0;
  /** How many there were at the last look, and how long the crowd has been gathering. */
  #seen = 0;
  #ageMs = 0;
  #cancel: (() => void) | undefined;

  constructor(timers: Timers, tracer: () => Tracer | undefined) {
    this.#timers = timers;
    this.#tracer = tracer;
  }

  /** Endings that have no span yet. */
  get size(): number {
    return this.#size;
  }

  add(ended: Ended): void {
    this.#size += 1;
    if (this.#groups !== undefined) {
      join(this.#groups, ended);
      return;
    }
    this.#apart.push(ended);
    if (this.#size === 1) void Promise.resolve().then(() => this.#turnIsOver());
    if (this.#size <= MOST_APART) return;
    const groups = (this.#groups = new Map<string, Group>());
    for (const one of this.#apart) join(groups, one);
    this.#apart = [];
    this.#look();
  }

  /** Makes every span that is due. */
  flush(): void {
    const [apart, groups] = [this.#apart, this.#groups];
    this.#apart = [];
    this.#groups = undefined;
    this.#size = this.#seen = this.#ageMs = 0;
    this.#cancel?.();
    this.#cancel = undefined;
    const tracer = this.#tracer();
    if (tracer === undefined) return;
    for (const ended of apart) guarded(() => endSpan(startSpan(tracer, ended), ended));
    if (groups !== undefined) guarded(() => tellGroups(tracer, groups.values()));
  }

  #turnIsOver(): void {
    if (this.#groups === undefined) this.flush();
  }

  #look(): void {
    this.#cancel = this.#timers.setTimer(QUIET_MS, () => {
      this.#ageMs += QUIET_MS;
      if (this.#seen === this.#size || this.#ageMs >= LONGEST_MS) return this.flush();
      this.#seen = this.#size;
      this.#look();
    });
    this.#seen = this.#size;
  }
}

function join(groups: Map<string, Group>, ended: Ended): void {
  const { opening, event, parent } = ended;
  const traceId = trace.getSpanContext(parent)?.traceId ?? '';
  const key = `${traceId} ${event.type} ${event.code ?? ''} ${event.downstream}`;
  const group = groups.get(key);
  const { waitedMs } = event;
  const tool = event.tool ?? opening.tool;
  const limit = limitOf(opening, event);
  if (group === undefined) {
    groups.set(key, { first: ended, longest: ended, count: 1, leastMs: waitedMs, sumMs: waitedMs, tool, limit });
    return;
  }
  group.count += 1;
  group.sumMs += waitedMs;
  group.leastMs = Math.min(group.leastMs, waitedMs);
  if (waitedMs > group.longest.event.waitedMs) group.longest = ended;
  if (group.tool !== tool) group.tool = undefined;
  if (group.limit !== limit) group.limit = undefined;
}

/** What finds no room is counted on the last span that does: a span of its own might not be sampled. */
function tellGroups(tracer: Tracer, groups: Iterable<Group>): void {
  let last: { readonly span: Span; readonly ended: Ended } | undefined;
  let told = 0;
  let traces = 0;
  let calls = 0;
  for (const group of groups) {
    if (told === MOST_SPANS) {
      if (!isSampled(group.first)) continue;
      traces += 1;
      calls += group.count;
      continue;
    }
    const span = group.count === 1 ? startSpan(tracer, group.first) : startGroup(tracer, group);
    if (!span.isRecording()) continue;
    told += 1;
    if (last !== undefined) endSpan(last.span, last.ended);
    last = { span, ended: group.longest };
  }
  if (last === undefined) return;
  if (traces > 0) {
    last.span.setAttribute(SPAN_ATTRIBUTE.leftOutTraces, traces);
    last.span.setAttribute(SPAN_ATTRIBUTE.leftOutCalls, calls);
  }
  endSpan(last.span, last.ended);
}

/** One span for them all: under the first of them, as long as the longest. */
function startGroup(tracer: Tracer, { first, longest, count, leastMs, sumMs, tool, limit }: Group): Span {
  const attributes = {
    ...attributesOf(longest.event),
    ...(tool === undefined ? {} : { [SPAN_ATTRIBUTE.tool]: tool }),
    ...(limit === undefined ? {} : { [SPAN_ATTRIBUTE.limitedBy]: limit }),
    [SPAN_ATTRIBUTE.groupCount]: count,
    [SPAN_ATTRIBUTE.groupLeast]: leastMs,
    [SPAN_ATTRIBUTE.groupSum]: sumMs,
  };
  return tracer.startSpan(WAIT_SPAN, { attributes, startTime: hrTime(longest.startedAt) }, first.parent);
}

function isSampled({ parent }: Ended): boolean {
  const of = trace.getSpanContext(parent);
  return of === undefined || (of.traceFlags & TraceFlags.SAMPLED) !== 0;
}

/** Nobody waits for these spans: what a tracer throws would end the process. */
function guarded(tell: () => void): void {
  try {
    tell();
  } catch (error) {
    diag.error('penstock: a span could not be made', error);
  }
}
