import type { AlertFacts, AlertName } from '../base/alert.ts';
import type { Clock } from '../base/clock.ts';
import { incidentKey } from './incidents.ts';

/** Something to be told that is about no call and no lane. */
export interface Notice {
  readonly name: Extract<AlertName, 'PolicyRejected' | 'SinkFailing'>;
  /** `policy`, `sink:slack`: with the name it makes the key of the incident. */
  readonly downstream: string;
  /** What happened, in one sentence without URL, argument or body. */
  readonly detail: string;
}

/** What `downstream` says in an alert about a policy. */
export const POLICY = 'policy';

/** Remembers since when each notice stands, so that all its alerts name one incident. */
export class Notices {
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #bornAt: number;
  readonly #standing = new Map<string, { readonly id: string; readonly startedAt: number }>();

  constructor(clock: Clock, newId: () => string) {
    this.#clock = clock;
    this.#newId = newId;
    this.#bornAt = clock.now();
  }

  /** Its facts: no call was throttled, nothing is held, nobody waits. */
  open(notice: Notice): AlertFacts {
    const { name, downstream, detail } = notice;
    const key = incidentKey(notice);
    const at = this.#clock.wallNow();
    const incident = this.#standing.get(key) ?? { id: this.#newId(), startedAt: at };
    this.#standing.set(key, incident);
    return {
      name,
      downstream,
      at,
      incident: { ...incident, throttles: 0, inARow: 0 },
      action: { kind: 'none' },
      impact: { waiting: 0, refused: 0, inFlight: 0, oldestWaitMs: 0, tools: [] },
      observed: { windows: [], processUpMs: this.#clock.now() - this.#bornAt },
      server: {},
      declared: [],
      longestWindowMs: 0,
      detail,
    };
  }

  close(name: AlertName, downstream: string): void {
    this.#standing.delete(incidentKey({ name, downstream }));
  }
}
