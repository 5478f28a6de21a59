import type { Alert } from '../../../src/base/alert.ts';
import type { Verdict } from '../../../src/base/verdict.ts';
import { createDispatcher } from '../../../src/dispatcher.ts';
import { ManualClock } from '../../../src/testing.ts';
import { type Kind, MOST_HOLD_MS, type Play, Row } from './incidents.ts';

const EXACT_MS = 1e-6;

/** A dispatcher on a manual clock beside the reference, which hears what the dispatcher hears, in the same order. */
export class IncidentWorld {
  readonly clock = new ManualClock();
  readonly alerts: Alert[] = [];
  readonly faults: string[] = [];
  readonly rows: Readonly<Record<Kind, Row>> = {
    throttled: new Row('throttled'),
    overloaded: new Row('overloaded'),
    exhausted: new Row('exhausted'),
  };
  readonly starts: number[] = [];
  readonly dispatcher = createDispatcher(
    {
      downstreams: {
        api: { quota: '60/minute', utilization: 1, whilePaused: 'wait', pauseAbove: '60d', classify: 'plain' },
      },
    },
    {
      clock: this.clock,
      env: {},
      alertSinks: [],
      onAlert: (alert) => this.alerts.push(alert),
      classify: { plain: ({ value }) => (value as { verdict?: Verdict } | null)?.verdict },
    },
  );
  /** Instants that the server stated, capped: no start before any of them. */
  #stated: number[] = [];
  #heldUntil = 0;
  readonly #plays: Play[] = [];
  /** How many incidents of each kind a call had seen when it started. */
  readonly #seen: Record<Kind, number>[] = [];

  constructor() {
    this.dispatcher.subscribe((event) => {
      if (event.type !== 'started' && event.type !== 'settled') return;
      const { tool } = event as { tool?: string };
      if (tool === undefined) return;
      if (event.type === 'started') this.#started(Number(tool));
      else this.#over(this.#plays[Number(tool)]!, this.#seen[Number(tool)]);
    });
  }

  async play(play: Play): Promise<void> {
    await this.clock.advance(play.afterMs);
    this.look();
    if (play.isResumed) this.#resume();
    const value = answerOf(play);
    if (play.way === 'returned' || play.way === 'thrown') {
      const tool = String(this.#plays.push(play) - 1);
      const fn = () => this.#after(play.runMs).then(() => (play.way === 'thrown' ? Promise.reject(value) : value));
      this.dispatcher.callDownstream('api', fn, { tool }).catch(() => undefined);
    } else {
      const now = this.clock.now();
      const hasStart = play.way === 'reported with its start';
      const when = hasStart ? { startedAt: this.clock.wallNow() - play.runMs } : {};
      const seen = hasStart ? this.#seenBy((row) => row.seenAt(now - play.runMs)) : undefined;
      this.dispatcher.report('api', value, when);
      this.#over(play, seen);
    }
    await this.clock.advance(0);
    this.look();
  }

  /** Where the lane and the reference must agree, and holds only extend. */
  look(): void {
    const now = this.clock.now();
    const { inARow, holds } = this.dispatcher.snapshot().downstreams[0]!;
    if (inARow !== this.rows.throttled.level) this.#fault(`step ${inARow}, expected ${this.rows.throttled.level}`);
    const heldUntil = now + Math.max(0, ...holds.map(({ leftMs }) => leftMs));
    const expected = Math.max(now, ...Object.values(this.rows).map((row) => row.heldUntil));
    if (Math.abs(heldUntil - expected) > EXACT_MS) this.#fault(`held until ${heldUntil}, expected ${expected}`);
    if (heldUntil < Math.min(this.#heldUntil, Number.MAX_VALUE) - EXACT_MS) this.#fault('a hold was shortened');
    this.#heldUntil = heldUntil;
    for (const [name, kind] of [
      ['QuotaModelWrong', 'throttled'],
      ['QuotaExhausted', 'exhausted'],
    ] as const) {
      const ids = new Set(this.alerts.flatMap((alert) => (alert.name === name ? [alert.incident.id] : [])));
      const { count } = this.rows[kind];
      if (ids.size !== count) this.#fault(`${ids.size} incidents of ${kind}, expected ${count}`);
    }
  }

  #resume(): void {
    this.dispatcher.resume('api', { all: true });
    for (const row of Object.values(this.rows)) row.resumed(this.clock.now());
    this.#stated = [];
    this.#heldUntil = 0;
  }

  #started(id: number): void {
    const now = this.clock.now();
    this.starts.push(now);
    this.#seen[id] = this.#seenBy((row) => row.count);
    const heldUntil = Math.max(...Object.values(this.rows).map((row) => row.heldUntil), ...this.#stated);
    if (now < heldUntil - EXACT_MS) this.#fault(`a start ${heldUntil - now} ms early`);
  }

  #over({ outcome, hintMs }: Play, seen: Record<Kind, number> | undefined): void {
    const now = this.clock.now();
    if (outcome === 'failed') return;
    if (outcome === 'success') {
      for (const row of Object.values(this.rows)) row.succeeded(seen?.[row.kind]);
      return;
    }
    this.rows[outcome].refused(seen?.[outcome], hintMs, now);
    if (hintMs !== undefined) this.#stated.push(now + Math.min(hintMs, MOST_HOLD_MS));
  }

  #seenBy(of: (row: Row) => number): Record<Kind, number> {
    const { throttled, overloaded, exhausted } = this.rows;
    return { throttled: of(throttled), overloaded: of(overloaded), exhausted: of(exhausted) };
  }

  #after(ms: number): Promise<void> {
    if (ms === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.clock.setTimer(ms, resolve, { keepAlive: false });
    });
  }

  #fault(text: string): void {
    this.faults.push(`at ${this.clock.now()} ms: ${text}`);
  }
}

function answerOf({ outcome, hintMs }: Play): unknown {
  const server = hintMs === undefined ? {} : outcome === 'exhausted' ? { resetMs: hintMs } : { retryAfterMs: hintMs };
  return { verdict: { outcome, server } };
}
