import type { AlertFacts, AlertName } from '../base/alert.ts';
import type { Clock } from '../base/clock.ts';
import { HOURLY_QUIET_MS, incidentKey, isHourly } from './incidents.ts';

/** Something to be told that is about no call and no lane. */
export interface Notice {
  readonly name: Extract<AlertName, 'PolicyRejected' | 'SinkFailing' | 'UngatedRequest'>;
  /** `policy`, `sink:slack`: with the name it makes the key of the incident. */
  readonly downstream: string;
  /** What happened, in one sentence without URL, argument or body. */
  readonly detail: string;
  /** Where it is about a downstream: what its policy says of it, and the caller's ids. */
  readonly labels?: Pick<AlertFacts, 'owner' | 'source' | 'runbook' | 'traceId' | 'spanId'>;
}

/** What `downstream` says in an alert about a policy. */
export const POLICY = 'policy';

/** Remembers since when each notice stands, so that all its alerts name one incident. */
export class Notices {
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #bornAt: number;
  readonly #standing = new Map<string, { readonly id: string; readonly startedAt: number; lastAt: number }>();

  constructor(clock: Clock, newId: () => string) {
    this.#clock = clock;
    this.#newId = newId;
    this.#bornAt = clock.now();
  }

  /** Its facts: no call was throttled, nothing is held, nobody waits. */
  open(notice: Notice): AlertFacts {
    const { name, downstream, detail, labels } = notice;
    const key = incidentKey(notice);
    const at = this.#clock.wallNow();
    const now = this.#clock.now();
    let standing = this.#standing.get(key);
    // What is said once an hour is over when it was not: then another incident begins.
    const isOver = standing !== undefined && isHourly(name) && now >= standing.lastAt + HOURLY_QUIET_MS;
    if (standing === undefined || isOver) standing = { id: this.#newId(), startedAt: at, lastAt: now };
    standing.lastAt = now;
    this.#standing.set(key, standing);
    const { id, startedAt } = standing;
    return {
      name,
      downstream,
      at,
      incident: { id, startedAt, throttles: 0, inARow: 0 },
      action: { kind: 'none' },
      impact: { waiting: 0, refused: 0, inFlight: 0, oldestWaitMs: 0, tools: [] },
      observed: { windows: [], processUpMs: now - this.#bornAt },
      server: {},
      declared: [],
      longestWindowMs: 0,
      detail,
      ...labels,
    };
  }

  close(name: AlertName, downstream: string): void {
    this.#standing.delete(incidentKey({ name, downstream }));
  }
}
