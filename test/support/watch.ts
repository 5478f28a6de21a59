import type { DispatcherEvent, HoldEvent } from '../../src/base/events.ts';
import type { DownstreamSnapshot, Snapshot } from '../../src/base/snapshot.ts';
import { type ManualClock, type Start, windowMax } from '../../src/testing.ts';
import type { Config } from './configs.ts';
import type { Made } from './made.ts';

/** What the watch looks at. */
export interface Watched {
  readonly clock: ManualClock;
  readonly configs: Readonly<Record<string, Config>>;
  readonly calls: readonly Made[];
  readonly snapshot: () => Snapshot;
}

/** A wall clock reading is a double near 2e12: its last bit is a quarter of a microsecond. */
const WALL_ROUNDING_MS = 2e-3;

/**
 * The eight invariants that hold whatever happens, checked at every turn that a rig takes. Faults are
 * collected as sentences; a test ends by expecting none.
 */
export class Watch {
  readonly faults = new Set<string>();
  /** After a refund or a change of policy the ledger may rightly hold back what the level would allow. */
  isLedgerBound = false;
  /** Timers that keep the process alive and belong to no lane: of a dispatcher that is closing. */
  otherTimers = 0;
  readonly #of: Watched;
  readonly #heldUntil = new Map<string, Map<string, number>>();
  readonly #starts = new Map<string, Start[]>();

  constructor(of: Watched) {
    this.#of = of;
  }

  /** 2: no start while a hold is in force. Holds are kept in monotonic time, per cause. */
  hear(event: DispatcherEvent): void {
    if (event.type !== 'held' && event.type !== 'resumed') return;
    const { clock } = this.#of;
    const holds = this.#heldUntil.get(event.downstream) ?? new Map<string, number>();
    this.#heldUntil.set(event.downstream, holds);
    if (event.type === 'resumed') holds.delete(event.cause);
    else holds.set(event.cause, clock.now() + (event as HoldEvent).until - clock.wallNow());
  }

  /** 1, 2 and 4, as `fn` is invoked. */
  started(call: Made): void {
    const nowMs = this.#of.clock.now();
    const lane = laneKey(call.downstream, call.account);
    const starts = this.#starts.get(lane) ?? [];
    this.#starts.set(lane, starts);
    for (const [unit, cost] of Object.entries(call.cost)) starts.push({ atMs: nowMs, cost, ...{ unit } });
    if (call.runs > 1) this.#fault(`fn of one call ran ${call.runs} times`);
    if (call.isSettled) this.#fault(`fn ran after its caller was told: ${call.result}`);
    for (const [cause, untilMs] of this.#heldUntil.get(call.downstream) ?? []) {
      if (nowMs < untilMs - WALL_ROUNDING_MS)
        this.#fault(`a start during a hold (${cause}), ${untilMs - nowMs} ms early`);
    }
  }

  /** 3, 5 and 8, between two turns. */
  look(): void {
    const { clock } = this.#of;
    const snapshot = this.#of.snapshot();
    const lanes = snapshot.downstreams.reduce((sum, one) => sum + 1 + one.accounts, 0);
    if (clock.pendingTimers > lanes + this.otherTimers)
      this.#fault(`${clock.pendingTimers} timers keep ${lanes} lanes alive`);
    for (const violation of clock.violations) this.#fault(violation);
    if (hasBadNumber(snapshot)) this.#fault('a number in the snapshot is not finite');
    for (const one of snapshot.downstreams) {
      for (const { quota, permits, burst } of one.quotas) {
        if (!(permits <= burst + 1e-9)) this.#fault(`${permits} permits of ${quota} in a bucket of ${burst}`);
      }
      if (one.accounts === 0 && this.#isStuck(one)) this.#fault(`at ${clock.now()} ms ${one.queued} wait for nothing`);
    }
  }

  /** 1: over every window of every declared quota. `extra` allows for what a change of policy left in force. */
  windows(): void {
    for (const [name, { declares }] of Object.entries(this.#of.configs)) {
      for (const { limit, windowMs, unit, isBucket } of declares) {
        if (isBucket === true) continue;
        const most = this.windowMax(name, windowMs, unit);
        if (most > limit) this.#fault(`${name}: ${most} ${unit} in a window of ${windowMs} ms, ${limit} declared`);
      }
    }
  }

  /** The most in any window of one downstream: of its own lane, or of whichever account had most. */
  windowMax(name: string, windowMs: number, unit = 'requests'): number {
    const lanes = [...this.#starts].filter(([lane]) => JSON.parse(lane)[0] === name);
    return Math.max(0, ...lanes.map(([, starts]) => this.#mostOf(starts, windowMs, unit)));
  }

  #mostOf(all: readonly Start[], windowMs: number, unit: string): number {
    const starts = all as readonly (Start & { unit: string })[];
    return windowMax(
      starts.filter((start) => start.unit === unit),
      windowMs,
    );
  }

  /** 5 and 6, once everything is over. */
  atRest(): void {
    const { clock, calls } = this.#of;
    for (const { downstream, queued, running, overdue } of this.#of.snapshot().downstreams) {
      if (queued + running + overdue > 0) this.#fault(`${downstream}: ${queued} queued, ${running} running at rest`);
    }
    if (clock.pendingTimers > 0) this.#fault(`${clock.pendingTimers} timers pending at rest`);
    const open = calls.filter((call) => !call.isSettled).length;
    if (open > 0) this.#fault(`${open} promises never settled`);
  }

  /** 8: somebody waits, and nothing that is known stands in the way of any of them. */
  #isStuck(one: DownstreamSnapshot): boolean {
    const policy = this.#of.configs[one.downstream]?.policy;
    if (policy === undefined || one.queued === 0 || one.holds.length > 0 || this.isLedgerBound) return false;
    if (policy.minInterval !== undefined || (one.quotas.length === 0 && one.warmLeftMs > 0)) return false;
    if (one.running >= (policy.maxConcurrent ?? Number.POSITIVE_INFINITY)) return false;
    const waiting = this.#of.calls.filter((call) => call.state === 'waiting' && call.downstream === one.downstream);
    return one.quotas.every(({ unit, permits, counted }) => {
      const dearest = Math.max(0, ...waiting.map((call) => call.cost[unit] ?? 0));
      return Math.min(permits, counted?.left ?? permits) >= dearest + 1e-6;
    });
  }

  #fault(text: string): void {
    this.faults.add(text);
  }
}

/** One lane per downstream and account. */
function laneKey(downstream: string, account: string | undefined): string {
  return JSON.stringify([downstream, account]);
}

function hasBadNumber(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasBadNumber);
}
