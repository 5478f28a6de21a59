import type { AlertFacts, AlertName, ServerWord } from '../base/alert.ts';
import type { Verdict } from '../base/verdict.ts';
import type { HoldCause, Outcome } from '../base/words.ts';
import { type CallStart, IncidentRow, type Refused } from '../model/incident-row.ts';
import type { RowKind } from '../model/incident-rules.ts';
import type { HoldNews } from './hold-news.ts';
import { type Culprit, type RaiseHost, raiseAlert } from './raise.ts';

const MOST_TOOLS = 5;
/** An extension by less is no news: all the 429s of a storm say the same, each a little later. */
const NEWS_MS = 1;

/** What incidents need of their lane. */
export interface IncidentHost extends RaiseHost {
  readonly news: HoldNews;
  /** The outlook of the waiters has worsened. */
  readonly held: () => void;
}

/** One episode of throttling: all the 429s of calls that started before its hold. */
interface Incident {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The lane's count of refusals when it began. */
  readonly refusedBefore: number;
  /** When the hold before it ended; 0 if there was none, or if it was still in force. */
  readonly heldBefore: number;
  readonly tools: Set<string>;
  throttles: number;
  inARow: number;
}

/** A row with the last of its incidents. An overload is no news of the quota: nobody is told of it. */
interface Story {
  readonly row: IncidentRow;
  readonly alert: AlertName | undefined;
  incident: Incident | undefined;
}

const KIND_OF: Readonly<Partial<Record<Outcome, RowKind>>> = {
  throttled: 'quota',
  overloaded: 'overload',
  exhausted: 'exhausted',
};

/** What a lane has learned from outcomes: rows of incidents, their holds and their alerts. */
export class Incidents {
  /** The count of incidents of every kind. Calls remember it at their start: whether that was before or after a hold. */
  epoch = 0;
  readonly #quota: Story = { row: new IncidentRow('quota'), alert: 'QuotaModelWrong', incident: undefined };
  readonly #overload: Story = { row: new IncidentRow('overload'), alert: undefined, incident: undefined };
  readonly #exhausted: Story = { row: new IncidentRow('exhausted'), alert: 'QuotaExhausted', incident: undefined };
  readonly #stories: readonly Story[] = [this.#quota, this.#overload, this.#exhausted];
  readonly #share: () => number;
  /** The last hold that was told. */
  #told: { readonly cause: HoldCause; readonly until: number } | undefined;
  readonly #host: IncidentHost;

  constructor(host: IncidentHost) {
    this.#host = host;
    this.#share = () => host.ports.random();
  }

  /** Incidents of the quota without a success in between that began after the hold. */
  get inARow(): number {
    return this.#quota.row.inARow;
  }

  /** The incident that the lane is still in: of the quota, else one of exhaustion. */
  get id(): string | undefined {
    for (const { row, incident } of [this.#quota, this.#exhausted]) if (row.inARow > 0) return incident?.id;
    return undefined;
  }

  /** No row of incidents of any kind. */
  get isCalm(): boolean {
    return this.#stories.every(({ row }) => row.inARow === 0);
  }

  /** Notes a tool that the incidents so far have cost something. */
  touch(tool: string | undefined): void {
    if (tool === undefined) return;
    for (const { incident } of this.#stories) {
      if (incident !== undefined && incident.tools.size < MOST_TOOLS) incident.tools.add(tool);
    }
  }

  /** Learns from an outcome; `start` is that of its call. */
  learn(verdict: Verdict, start: CallStart, tool?: string, runId?: string): void {
    const { outcome } = verdict;
    if (outcome === 'success') {
      for (const { row } of this.#stories) {
        if (row.inARow > 0) row.succeeded(start, this.#host.ports.clock.now());
      }
      return;
    }
    const kind = KIND_OF[outcome];
    const story = this.#stories.find(({ row }) => row.kind === kind);
    if (story !== undefined) this.#refused(story, verdict.server ?? {}, start, { tool, runId });
  }

  /** The operator has dropped all that the server asked for. */
  resumed(): void {
    const now = this.#host.ports.clock.now();
    for (const { row } of this.#stories) row.resumed(now);
  }

  /**
   * Goes on with the rows of another lane's incidents. Calls that run already count as started before the last
   * hold: nobody can say that they have seen it end.
   */
  takeOver(from: Incidents): void {
    this.epoch++;
    for (const [i, story] of this.#stories.entries()) {
      const { row, incident } = from.#stories[i]!;
      story.row.takeOver(row, this.epoch);
      story.incident = incident && { ...incident, refusedBefore: this.#host.tally.refusals };
    }
  }

  /** Raises an alert that no 429 has caused. */
  notice(name: AlertName, detail: string, tool?: string, runId?: string): void {
    const incident = this.#begun(this.#host.ports.clock.now(), this.inARow);
    const culprit = { tool, runId, trace: undefined };
    const action = { kind: 'none' } as const;
    raiseAlert(this.#host, name, incident, incident.heldBefore, { server: {}, culprit, action, detail });
  }

  #refused(story: Story, server: ServerWord, start: CallStart, by: Omit<Culprit, 'trace'>): void {
    const { ports, tally, gate } = this.#host;
    const { row, alert } = story;
    const now = ports.clock.now();
    if (row.kind === 'quota') {
      tally.throttled++;
      ports.recent.throttled(now);
      tally.lastThrottledAt = ports.clock.wallNow();
    }
    const hintMs = row.kind === 'exhausted' ? resetOf(server, gate.plan.cooldown.maxMs) : usable(server.retryAfterMs);
    const refusal = { start, hintMs };
    const { isNew, hold, isCapped }: Refused = gate.plan.unlimited
      ? row.noted(refusal, now, this.epoch + 1)
      : row.refused(refusal, now, gate.plan, this.epoch + 1, this.#share);
    if (isNew) this.epoch++;
    const incident = (!isNew && story.incident) || this.#begun(now, row.inARow);
    story.incident = incident;
    incident.throttles++;
    incident.inARow = row.inARow;
    if (by.tool !== undefined && incident.tools.size < MOST_TOOLS) incident.tools.add(by.tool);
    if (hold !== undefined) this.#hold(hold.cause, hold.until, now, alert === undefined ? undefined : incident.id);
    if (alert === undefined) return;
    raiseAlert(this.#host, alert, incident, incident.heldBefore, {
      server: isCapped ? { ...server, capped: true } : server,
      culprit: { ...by, trace: ports.bus.trace() },
      action: this.#action(row, now),
    });
  }

  #begun(now: number, inARow: number): Incident {
    const { ports, tally, gate } = this.#host;
    const { until } = gate.holds;
    return {
      id: ports.nextIncidentId(),
      startedAt: ports.clock.wallNow(),
      refusedBefore: tally.refusals,
      heldBefore: until <= now ? until : 0,
      tools: new Set(),
      throttles: 0,
      inARow,
    };
  }

  #hold(cause: HoldCause, until: number, now: number, incidentId: string | undefined): void {
    const { gate, news } = this.#host;
    if (!gate.hold(cause, until, now)) return;
    if (this.#told?.cause === cause && until >= this.#told.until && until < this.#told.until + NEWS_MS) return;
    this.#told = { cause, until };
    news.held(cause, until, now, { incidentId });
    this.#host.held();
  }

  #action(row: IncidentRow, now: number): AlertFacts['action'] {
    const { gate, ports } = this.#host;
    if (!gate.isHeld(now)) return { kind: 'none' };
    const { until, cause } = gate.holds;
    // The step is that of the hold that counts, whichever row it is of; what is exhausted has none.
    const { kind, inARow } = this.#stories.find((story) => story.row.heldUntil === until)?.row ?? row;
    const step = kind !== 'exhausted' && inARow > 0 ? { step: inARow } : {};
    const untilWall = ports.clock.wallNow() + (until - now);
    return { kind: this.#host.gate.isPaused(now) ? 'pause' : 'hold', cause, until: untilWall, ...step };
  }
}

/** A classifier is user code: a time that is none is no hint. */
function usable(ms: unknown): number | undefined {
  return typeof ms === 'number' && ms >= 0 ? ms : undefined;
}

/** Seconds that are named beside a quota of a day are no cure: only its reset counts, or a wait that is longer than ours. */
function resetOf({ retryAfterMs, resetMs }: ServerWord, cooldownMs: number): number | undefined {
  const waitMs = usable(retryAfterMs) ?? 0;
  const longest = Math.max(waitMs, usable(resetMs) ?? 0);
  return usable(resetMs) !== undefined || longest >= cooldownMs ? longest : undefined;
}
