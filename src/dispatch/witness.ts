import type { AlertFacts, AlertName, ServerWord } from '../base/alert.ts';
import type { BunchEvidence, Evidence } from '../base/evidence.ts';
import type { QuotaReading } from '../base/verdict.ts';
import { REQUESTS } from '../base/words.ts';
import { Counters, type Sign } from '../model/counters.ts';
import { OwnUse } from '../model/own-use.ts';
import { defined } from './hold-news.ts';
import { type RaiseHost, raiseAlert } from './raise.ts';

/** Windows in which a limit may be counted that nobody declared; the last ones only where a hint points there. */
const SHOWN_MS = [1_000, 10_000];
const HINTED_MS = [2_000, 5_000, 15_000, 30_000, 60_000, 300_000, 600_000, 900_000, 3_600_000];
/** Hints come in whole seconds, rounded up. */
const HINT_SLACK_MS = 500;
/** An answer is noted and then acted upon; nothing else happens in between. */
const SAME_ANSWER_MS = 5;
/** In a storm of refusals the past is looked through once. */
const SAME_PAST_MS = 1_000;

const NO_ACTION: AlertFacts['action'] = { kind: 'none' };

/** What a witness needs of its lane. */
export interface WitnessHost extends RaiseHost {
  readonly running: { readonly inFlight: number };
}

/** Sees what the server counts beside what its lane started: the evidence of every alert, and what is said before any 429. */
export class Witness {
  readonly #host: WitnessHost;
  #use: OwnUse | undefined;
  #counters: Counters | undefined;
  #past: { readonly at: number; readonly most: Map<number, number> } | undefined;

  constructor(host: WitnessHost) {
    this.#host = host;
  }

  /** An answer named limits. `startNumber`: of the call that was answered; undefined where nobody knows. */
  hear(readings: readonly QuotaReading[], startNumber: number | undefined): void {
    if (!Array.isArray(readings)) return;
    const { plan } = this.#host.gate;
    const use = this.#moveOn(startNumber);
    this.#counters ??= new Counters();
    for (const sign of this.#counters.hear(readings, plan, use))
      if (plan.earlyAlerts !== false) this.#tell(sign, use.now);
  }

  /** The call with that number was refused by the server. */
  throttled(startNumber: number): void {
    this.#moveOn(startNumber).refuse(startNumber);
  }

  /** What is known when something is worth an alert. `server`: what the answer said that it is about. */
  evidence(server: ServerWord): Evidence {
    const { gate, ports } = this.#host;
    const { plan, ledger } = gate;
    const now = ports.clock.now();
    return {
      workers: plan.workers,
      quotas: plan.quotas.map(({ text, unit, limit, windowMs, share, sized, burst, providerBurst }, i) => ({
        text,
        unit,
        limit,
        windowMs,
        share,
        sized,
        burst,
        ...(providerBurst === undefined ? {} : { providerBurst }),
        taken: ledger.used(i, now),
      })),
      counters: this.#use === undefined ? [] : (this.#counters?.evidence(plan, this.#use, now) ?? []),
      bunches: this.#bunches(server.retryAfterMs, now),
    };
  }

  #moveOn(startNumber: number | undefined): OwnUse {
    const { gate, ports, running } = this.#host;
    this.#use ??= new OwnUse(gate, ports.bornAt);
    this.#use.moveOn(ports.clock.now(), startNumber, running.inFlight);
    return this.#use;
  }

  #bunches(hintMs = 0, now: number): BunchEvidence[] {
    const use = this.#use;
    // Reported from elsewhere: nobody knows which start it was.
    if (use?.startNumber === undefined || now - use.now > SAME_ANSWER_MS) return [];
    const { gate, running } = this.#host;
    const declared = gate.plan.quotas.filter(({ unit }) => unit === REQUESTS).map(({ windowMs }) => windowMs);
    const hinted = HINTED_MS.find((windowMs) => windowMs + HINT_SLACK_MS >= hintMs) ?? 0;
    const windows = [...new Set([...SHOWN_MS, hinted])].filter(
      (windowMs) => windowMs > 0 && !declared.includes(windowMs) && windowMs < Math.max(0, ...declared),
    );
    const unanswered = Math.max(0, running.inFlight - use.later);
    return windows
      .sort((a, b) => a - b)
      .map((windowMs) => {
        const starts = gate.ledger.starts(use.now - (use.startedAt - windowMs), use.now) - use.later;
        const throttled = use.refusedAmong(starts);
        const most = this.#mostBefore(windowMs, use);
        return { windowMs, starts, throttled, unanswered: Math.min(unanswered, starts - throttled), most };
      });
  }

  #mostBefore(windowMs: number, use: OwnUse): number {
    if (this.#past === undefined || use.now - this.#past.at > SAME_PAST_MS)
      this.#past = { at: use.now, most: new Map() };
    const { most } = this.#past;
    let found = most.get(windowMs);
    if (found === undefined) {
      const { ledger } = this.#host.gate;
      found = ledger.mostStarts(windowMs, use.startedAt - windowMs, use.refusedBackwards());
      most.set(windowMs, found);
    }
    return found;
  }

  #tell(sign: Sign, now: number): void {
    const { spoken } = this.#host.ports;
    const { quota } = sign;
    if (sign.kind === 'limit') {
      if (sign.isDeclared) spoken.limitIsDeclared(this, quota.text);
      else if (spoken.limit(this, quota.text, sign.limit, now)) this.raise('QuotaDrift', { limit: sign.limit });
      return;
    }
    const { evidence } = sign;
    const { used = 0, ours = 0, spanMs = quota.windowMs, limit, remaining } = evidence;
    const share = ((used - ours) * quota.windowMs) / spanMs / quota.limit;
    if (!spoken.share(this, quota.text, share, now)) return;
    const server = defined({ limit, remaining });
    const all = this.evidence(server);
    const counters = all.counters.map((counter) => (counter.quota === evidence.quota ? evidence : counter));
    this.raise('OtherConsumer', server, NO_ACTION, { ...all, counters });
  }

  /** Raises an alert that rests on what answers said of the server's limits, and on no refusal. */
  raise(
    name: AlertName,
    server: ServerWord,
    action: AlertFacts['action'] = NO_ACTION,
    evidence = this.evidence(server),
  ): void {
    const { ports, tally } = this.#host;
    const incident = {
      id: ports.nextIncidentId(),
      startedAt: ports.clock.wallNow(),
      throttles: 0,
      inARow: 0,
      tools: new Set<string>(),
      refusedBefore: tally.refusals,
    };
    const culprit = { tool: undefined, runId: undefined, trace: undefined };
    raiseAlert(this.#host, name, incident, 0, { server, culprit, action, evidence });
  }
}
