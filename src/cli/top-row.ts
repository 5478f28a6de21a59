import type { DownstreamSnapshot, QuotaSnapshot } from '../base/snapshot.ts';
import { type HoldCause, REQUESTS } from '../base/words.ts';
import { clean } from './top-text.ts';

/** A downstream as one process told of it. */
export interface Told {
  readonly snapshot: DownstreamSnapshot;
  /** Epoch milliseconds of its snapshot. */
  readonly at: number;
  /** Milliseconds since it was read: what is left of a hold has become less by that. */
  readonly ageMs: number;
}

/** One line of the table: a downstream, all its processes added up. Durations in milliseconds, rates per second. */
export interface Row {
  readonly downstream: string;
  /** Of whom it was read. */
  readonly processes: number;
  /** Anything but `enforce`, in any of them. */
  readonly mode?: string;
  readonly startsPerSecond: number;
  /** What all of them together are sized for, of the request quota that binds in the long run. */
  readonly sizedPerSecond?: number;
  /** What the downstream declares, whole. */
  readonly declaredPerSecond?: number;
  readonly quota?: string;
  readonly queued: number;
  readonly oldestWaitMs: number;
  readonly expectedWaitMs: number;
  readonly limitedBy?: string;
  readonly inFlight: number;
  readonly maxConcurrent?: number;
  readonly overdue: number;
  readonly orphaned: number;
  /** Of several processes the worst. */
  readonly waitP50Ms?: number;
  readonly waitP95Ms?: number;
  /** The hold that ends last; `until` in epoch milliseconds. */
  readonly hold?: { readonly cause: HoldCause; readonly leftMs: number; readonly until: number };
  readonly holding: number;
  readonly isPaused: boolean;
  readonly pauseReason?: string;
  readonly warmLeftMs: number;
  /** In the last minute. */
  readonly throttled: number;
  readonly refused: number;
  readonly lastThrottledAgoMs?: number;
  readonly inARow: number;
  /** Since each process began. */
  readonly refusedByCode: Readonly<Record<string, number>>;
}

/** Adds up what processes told of one downstream; what an older or a broken one leaves out counts as nothing. */
export function rowOf(all: readonly Told[]): Row {
  const list = all.map(({ snapshot }) => snapshot);
  const sum = (of: (one: DownstreamSnapshot) => unknown): number =>
    list.reduce((total, one) => total + num(of(one)), 0);
  const most = (of: (one: Told) => unknown): number => all.reduce((most, one) => Math.max(most, num(of(one))), 0);
  const known = (of: (one: DownstreamSnapshot) => unknown): number | undefined =>
    list.every((one) => isNumber(of(one))) ? sum(of) : undefined;
  const worst = (of: (one: DownstreamSnapshot) => unknown): number | undefined =>
    list.some((one) => isNumber(of(one))) ? most(({ snapshot }) => of(snapshot)) : undefined;
  const quotas = list.map(binding);
  const sized = quotas.every((quota) => quota !== undefined);
  const longest = [...list].sort((a, b) => num(b.expectedWaitMs) - num(a.expectedWaitMs))[0];
  const throttles = all.flatMap(({ snapshot: { lastThrottledAt }, at, ageMs }) =>
    isNumber(lastThrottledAt) ? [Math.max(0, at - lastThrottledAt) + ageMs] : [],
  );
  const holds = all.map(holdOf).filter((hold) => hold !== undefined);
  const row: Optional<Row> = {
    downstream: clean(String(list[0]?.downstream ?? '')) || '?',
    processes: all.length,
    mode: list.map(({ mode }) => mode).find((mode) => typeof mode === 'string' && mode !== 'enforce'),
    startsPerSecond: sum((one) => one.recent?.startsPerSecond),
    sizedPerSecond: sized ? quotas.reduce((total, quota) => total + num(quota?.sizedPerSecond), 0) : undefined,
    declaredPerSecond: sized ? Math.max(...quotas.map((quota) => num(quota?.declaredPerSecond))) : undefined,
    quota: quotas[0] === undefined ? undefined : clean(String(quotas[0].quota)),
    queued: sum((one) => one.queued),
    oldestWaitMs: most(({ snapshot, ageMs }) => (num(snapshot.queued) > 0 ? num(snapshot.oldestWaitMs) + ageMs : 0)),
    expectedWaitMs: most(({ snapshot }) => snapshot.expectedWaitMs),
    limitedBy: typeof longest?.limitedBy === 'string' ? clean(longest.limitedBy) : undefined,
    inFlight: sum((one) => one.running),
    maxConcurrent: known((one) => one.maxConcurrent),
    overdue: sum((one) => one.overdue),
    orphaned: sum((one) => one.orphaned),
    waitP50Ms: worst((one) => one.recent?.waitP50Ms),
    waitP95Ms: worst((one) => one.recent?.waitP95Ms),
    hold: holds.sort((a, b) => b.leftMs - a.leftMs)[0],
    holding: holds.length,
    isPaused: list.some((one) => one.isPaused === true) && holds.length > 0,
    pauseReason: list.map((one) => one.pauseReason).find((reason) => typeof reason === 'string'),
    warmLeftMs: most(({ snapshot, ageMs }) => num(snapshot.warmLeftMs) - ageMs),
    throttled: sum((one) => one.recent?.throttled),
    refused: sum((one) => one.recent?.refused),
    lastThrottledAgoMs: throttles.length > 0 ? Math.min(...throttles) : undefined,
    inARow: most(({ snapshot }) => snapshot.inARow),
    refusedByCode: addedUp(list),
  };
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as unknown as Row;
}

type Optional<T> = { [K in keyof T]: T[K] | undefined };

/** Of the quotas of requests the one that lets the fewest start in the long run. */
function binding({ quotas }: DownstreamSnapshot): QuotaSnapshot | undefined {
  const requests = list(quotas).filter((quota) => quota.unit === REQUESTS && isNumber(quota.sizedPerSecond));
  return requests.sort((a, b) => a.sizedPerSecond - b.sizedPerSecond)[0];
}

function holdOf({ snapshot, ageMs }: Told): Row['hold'] {
  const holds = list(snapshot.holds)
    .map(({ cause, leftMs, until }) => ({
      cause: clean(String(cause)) as HoldCause,
      leftMs: num(leftMs) - ageMs,
      until,
    }))
    .filter(({ leftMs }) => leftMs > 0);
  return holds.sort((a, b) => b.leftMs - a.leftMs)[0];
}

function addedUp(all: readonly DownstreamSnapshot[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { totals } of all) {
    for (const [code, count] of Object.entries(totals?.refused ?? {})) {
      counts.set(clean(code), (counts.get(clean(code)) ?? 0) + num(count));
    }
  }
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1]));
}

function list<T>(value: readonly T[]): T[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : [];
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function num(value: unknown): number {
  return isNumber(value) ? value : 0;
}
