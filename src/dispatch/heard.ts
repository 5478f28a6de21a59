import type { HeardSnapshot } from '../base/snapshot.ts';
import type { QuotaReading } from '../base/verdict.ts';
import { type Outcome, REQUESTS } from '../base/words.ts';
import { countedAt } from '../model/counted.ts';
import type { Gate } from '../model/gate.ts';
import { defined, type HoldNews } from './hold-news.ts';
import type { LanePorts } from './ports.ts';
import { Witness, type WitnessHost } from './witness.ts';

const SAME_RESET_MS = 60_000;

/** What hearing needs of its lane. */
export interface HeardHost extends WitnessHost {
  readonly name: string;
  readonly gate: Gate;
  readonly ports: LanePorts;
  readonly news: HoldNews;
  /** The outlook of the waiters has worsened. */
  readonly held: () => void;
}

/** When a call started: its number among the lane's starts, and the instant (monotonic milliseconds). */
export interface AnsweredCall {
  readonly startNumber: number;
  readonly startedAt: number;
}

/** Refusals name their own wait, which may be shorter than the reset that stands beside it. */
const REFUSALS: ReadonlySet<Outcome> = new Set(['throttled', 'overloaded', 'exhausted']);
/** Counts what runs, not what starts. */
const CONCURRENCY = 'concurrent-requests';
/** The limit of one endpoint says nothing of the calls to others. */
const OF_ONE_ENDPOINT = /(?:^|-)endpoint(?:$|-)/;

/**
 * What a lane has heard of the server's own counters. They only ever lower what it starts before their
 * reset: whatever the order of the answers, a call that had started when another was answered counts
 * against what that answer left.
 */
export class Heard {
  last: HeardSnapshot | undefined;
  readonly witness: Witness;
  #toldUntil = 0;
  readonly #host: HeardHost;

  constructor(host: HeardHost) {
    this.#host = host;
    this.witness = new Witness(host);
  }

  /** `call`: the one that was answered; undefined where nobody knows. */
  hear(quotas: readonly QuotaReading[], call: AnsweredCall | undefined, outcome: Outcome): void {
    const { gate, ports } = this.#host;
    const startNumber = call?.startNumber;
    this.last = { at: ports.clock.wallNow(), quotas };
    this.witness.hear(quotas, startNumber);
    if (gate.plan.unlimited || REFUSALS.has(outcome)) return;
    const now = ports.clock.now();
    const startsSince = startNumber === undefined ? 0 : gate.startCount - startNumber;
    const tookMs = call === undefined ? 0 : now - call.startedAt;
    let isLower = false;
    for (const reading of quotas) {
      const { unit = REQUESTS, remaining, resetMs, policy = '' } = reading;
      if (remaining === undefined || resetMs === undefined || resetMs <= 0) continue;
      if (unit === CONCURRENCY || OF_ONE_ENDPOINT.test(policy)) continue;
      for (const { unseenMs, agoMs } of countedAt(tookMs)) {
        if (resetMs <= agoMs) continue;
        const starts = Math.min(startsSince, gate.ledger.starts(unseenMs, now));
        const until = now + Math.min(resetMs - agoMs, gate.plan.maxHoldMs);
        if (gate.heed({ ...reading, unit, remaining }, until, starts, now)) isLower = true;
      }
    }
    if (!isLower) return;
    const spent = quotas.find(({ unit = REQUESTS, remaining = 1 }) => unit === REQUESTS && remaining < 1);
    if (this.#holdIfSpent(now) && spent !== undefined && this.#host.gate.isPaused(now)) this.#tellOfPause(spent, now);
    this.#host.held();
  }

  /** A call starts that the server's counters count. */
  startedOne(): void {
    // Once it runs: to whoever listens it would otherwise have started during a hold.
    void Promise.resolve().then(() => {
      if (this.#holdIfSpent(this.#host.ports.clock.now())) this.#host.held();
    });
  }

  /** The server itself says that nothing is left: new work is refused from now on, and no 429 will say why. */
  #tellOfPause({ limit, remaining }: QuotaReading, now: number): void {
    const { gate, ports } = this.#host;
    const until = gate.heldUntil;
    // A reset that is told by the second comes a little later with every answer.
    const isTold = until < this.#toldUntil + SAME_RESET_MS;
    this.#toldUntil = Math.max(this.#toldUntil, until);
    if (isTold) return;
    const server = defined({ limit, remaining, resetMs: until - now });
    const action = { kind: 'pause', cause: 'quota-reset', until: ports.clock.wallNow() + (until - now) } as const;
    this.witness.raise('QuotaExhausted', server, action);
  }

  /** Where nothing is left by the server's count, the lane is held until the count starts afresh; true if that is news. */
  #holdIfSpent(now: number): boolean {
    const { gate, news } = this.#host;
    const until = gate.caps.spentUntil;
    if (until <= now || !gate.hold('quota-reset', until, now)) return false;
    news.held('quota-reset', until, now, {});
    return true;
  }
}
