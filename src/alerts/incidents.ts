import type { Alert, AlertName } from '../base/alert.ts';
import { type Clock, LONGEST_TIMER_MS } from '../base/clock.ts';
import { explainEnd } from './explanation.ts';
import { isoInstant } from './instants.ts';

/** A sink hears of a changed incident at most this often; and nothing is over before this long without a 429. */
const QUIET_MS = 300_000;

/** What is said once an hour for as long as it lasts is over when it was not said for longer than that. */
const HOURLY_QUIET_MS = 4_500_000;
const HOURLY: ReadonlySet<AlertName> = new Set(['QuotaDrift', 'OtherConsumer']);

/** What a sink was told last, and what has happened since. Instants are monotonic. */
interface Open {
  /** The first alert's `startedAt`: by its end it may have been several incidents in a row. */
  readonly since: string;
  latest: Alert;
  count: number;
  toldState: string;
  toldAt: number;
  endsAt: number;
  /** How long nothing must happen until it is over. */
  quietMs: number;
}

/**
 * Makes incidents out of alerts, for sinks: told at once when one opens, again at most every five
 * minutes when something has changed, once when it is over. An incident is known by alert name and
 * downstream (the environment is the same for a whole process), never by process or count.
 * Holds one timer while something is open, none otherwise.
 */
export class Incidents {
  readonly #open = new Map<string, Open>();
  readonly #clock: Clock;
  readonly #tell: (alert: Alert) => void;
  readonly #newId: () => string;
  #timerAt = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, tell: (alert: Alert) => void, newId: () => string) {
    this.#clock = clock;
    this.#tell = tell;
    this.#newId = newId;
  }

  /** `heldForMs`: what is left of the hold; `longestWindowMs`: the widest declared window. */
  take(alert: Alert, heldForMs: number, longestWindowMs: number): void {
    const now = this.#clock.now();
    const key = incidentKey(alert);
    const isHourly = HOURLY.has(alert.name);
    const quietMs = Math.max(isHourly ? HOURLY_QUIET_MS : QUIET_MS, 2 * longestWindowMs);
    // A lane that stands still is not quiet: it is not over before its hold is.
    const endsAt = now + Math.max(quietMs, heldForMs);
    const open = this.#open.get(key);
    if (open === undefined) {
      const count = Math.max(1, alert.incident.throttles);
      const toldState = stateOf(alert, count);
      this.#open.set(key, {
        since: alert.incident.startedAt,
        latest: alert,
        count,
        toldState,
        toldAt: now,
        endsAt,
        quietMs,
      });
      this.#tell(alert);
      this.#arm(endsAt);
      return;
    }
    open.latest = alert;
    open.count = Math.max(open.count + 1, alert.incident.throttles);
    open.endsAt = endsAt;
    open.quietMs = quietMs;
    // It is said again only where it has changed, or an hour later.
    if (isHourly) open.toldState = '';
    this.#look(key, open, now);
    this.#arm(dueAt(open));
  }

  /** Forgets everything that is open; nobody is told. */
  stop(): void {
    this.#open.clear();
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  /** Tells what is due for one incident. */
  #look(key: string, open: Open, now: number): void {
    if (now >= open.endsAt) {
      this.#open.delete(key);
      this.#tell(this.#ended(open));
    } else if (isChanged(open) && now >= open.toldAt + QUIET_MS) {
      open.toldState = stateOf(open.latest, open.count);
      open.toldAt = now;
      this.#tell(open.latest);
    }
  }

  #ended({ since, latest, quietMs, count }: Open): Alert {
    const at = isoInstant(this.#clock.wallNow());
    return {
      ...latest,
      id: this.#newId(),
      status: 'resolved',
      at,
      endsAt: at,
      action: { kind: 'none' },
      explanation: explainEnd(latest, since, quietMs, count),
    };
  }

  #arm(at: number): void {
    if (at >= this.#timerAt) return;
    this.#cancelTimer?.();
    this.#timerAt = at;
    const delayMs = Math.min(Math.max(at - this.#clock.now(), 1), LONGEST_TIMER_MS);
    this.#cancelTimer = this.#clock.setTimer(delayMs, () => this.#onTimer(), { keepAlive: false });
  }

  #onTimer(): void {
    this.#cancelTimer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    for (const [key, open] of this.#open) this.#look(key, open, now);
    let next = Number.POSITIVE_INFINITY;
    for (const open of this.#open.values()) next = Math.min(next, dueAt(open));
    this.#arm(next);
  }
}

/** Alerts with the same key are about the same thing: a newer one says all that an older one said. */
export function incidentKey(alert: Alert): string {
  return `${alert.name} ${alert.downstream}`;
}

function dueAt(open: Open): number {
  return isChanged(open) ? Math.min(open.toldAt + QUIET_MS, open.endsAt) : open.endsAt;
}

function isChanged(open: Open): boolean {
  return stateOf(open.latest, open.count) !== open.toldState;
}

/** What a reader would want to hear of again: severity, hold, order of magnitude of the count. */
function stateOf({ severity, action }: Alert, count: number): string {
  return [severity, action.kind, action.cause, action.until, String(count).length].join(' ');
}
