import type { Alert, AlertName } from '../base/alert.ts';
import type { Clock } from '../base/clock.ts';
import { Alarm } from './alarm.ts';
import { explainEnd } from './explanation.ts';
import { isoInstant } from './instants.ts';

/** Somebody who is told incidents: a sink behind its mailbox. */
export interface Reader {
  /** Whether it wants to hear of an incident that it has not heard of. */
  readonly accepts: (alert: Alert) => boolean;
  /** It is told again this often for as long as an incident lasts (milliseconds). */
  readonly repeatMs: number | undefined;
  /** `isUpdate`: it has been told of this incident before. */
  readonly tell: (alert: Alert, isUpdate: boolean) => void;
  /** Puts a newer word in the place of one that has not gone out; false where none waits. */
  readonly refresh: (alert: Alert) => boolean;
  /** Takes back what has not gone out; false where it has therefore never been told of this incident. */
  readonly withdraw: (alert: Alert) => boolean;
}

export interface IncidentsOptions {
  readonly clock: Clock;
  readonly readers: readonly Reader[];
  readonly newId: () => string;
  /** Until when nobody is told about a downstream (epoch milliseconds); asked anew each time. */
  readonly mutedUntil: (downstream: string) => number | undefined;
}

/** A sink hears of a changed incident at most this often; and nothing is over before this long without a 429. */
const QUIET_MS = 300_000;
/** What has changed is left to the end of the incident where that is as near as this. */
const NEAR_END_MS = 30_000;
/** A pause goes on refusing calls without a 429: what it has come to is looked at soon, when it has thrown out who cannot wait, and then now and again. */
const FIRST_REVIEW_MS = 5_000;
const REVIEW_MS = 60_000;
/** What is said once an hour for as long as it lasts is over when it was not said for longer than that. */
export const HOURLY_QUIET_MS = 4_500_000;
const HOURLY: ReadonlySet<AlertName> = new Set(['QuotaDrift', 'OtherConsumer', 'UngatedRequest']);
/** These last until somebody says that they are over: silence proves nothing about them. */
const LASTING: ReadonlySet<AlertName> = new Set(['SinkFailing', 'PolicyRejected']);
/** One per alert name and downstream; more can only be a leak of names. What comes above it is told once, and never as over. */
const MOST_OPEN = 1_000;

/** What one reader was told last. */
interface Told {
  state: string;
  at: number;
}

/** What has happened since an incident opened. Instants are monotonic. */
interface Open {
  /** The first alert's `startedAt`: by its end it may have been several incidents in a row. */
  readonly since: string;
  latest: Alert;
  lastAt: number;
  count: number;
  state: string;
  endsAt: number;
  /** How long nothing must happen until it is over. */
  quietMs: number;
  /** The latest alert as it would be now, for as long as its pause lasts. */
  anew: (() => Alert) | undefined;
  pausedUntil: number;
  reviewAt: number;
  /** By reader; nothing where it has not been told. */
  readonly told: (Told | undefined)[];
}

/**
 * Makes incidents out of alerts, for sinks: told at once when one opens, again at most every five
 * minutes when something has changed, once when it is over. An incident is known by alert name and
 * downstream (the environment is the same for a whole process), never by process or count. Who was told
 * of one hears of it to its end; who was not, as soon as it is what that reader accepts.
 * Holds one timer while something is open, none otherwise.
 */
export class Incidents {
  readonly #open = new Map<string, Open>();
  readonly #clock: Clock;
  readonly #readers: readonly Reader[];
  readonly #newId: () => string;
  readonly #mutedUntil: IncidentsOptions['mutedUntil'];
  readonly #alarm: Alarm;

  constructor({ clock, readers, newId, mutedUntil }: IncidentsOptions) {
    this.#clock = clock;
    this.#readers = readers;
    this.#newId = newId;
    this.#mutedUntil = mutedUntil;
    this.#alarm = new Alarm(clock, () => this.review());
  }

  /** `heldForMs`: what is left of the hold; `longestWindowMs`: the widest declared window; `anew`: the alert with the numbers of then. */
  take(alert: Alert, heldForMs: number, longestWindowMs: number, anew?: () => Alert): void {
    const now = this.#clock.now();
    const key = incidentKey(alert);
    const isSaidHourly = isHourly(alert.name);
    const quietMs = Math.max(isSaidHourly ? HOURLY_QUIET_MS : QUIET_MS, 2 * longestWindowMs);
    // A lane that stands still is not quiet: it is not over before its hold is.
    const endsAt = LASTING.has(alert.name) ? Number.POSITIVE_INFINITY : now + Math.max(quietMs, heldForMs);
    let open = this.#open.get(key);
    if (open === undefined) {
      if (this.#open.size >= MOST_OPEN) {
        this.#tellOnce(alert);
        return;
      }
      const since = alert.incident.startedAt;
      const review = { anew, pausedUntil: now, reviewAt: now };
      open = { since, latest: alert, lastAt: now, count: 0, state: '', endsAt, quietMs, ...review, told: [] };
      this.#open.set(key, open);
    }
    open.latest = alert;
    open.lastAt = now;
    open.count = Math.max(open.count + 1, alert.incident.throttles);
    open.state = stateOf(alert, open.count);
    open.endsAt = endsAt;
    open.quietMs = quietMs;
    open.anew = anew;
    open.pausedUntil = alert.action.kind === 'pause' ? now + heldForMs : now;
    open.reviewAt = now + FIRST_REVIEW_MS;
    // It is said again only where it has changed, or an hour later.
    if (isSaidHourly) for (const told of open.told) if (told !== undefined) told.state = '';
    this.#look(key, open, now);
  }

  /** A downstream is held no longer: its incidents end when they have been quiet for long enough. */
  resumed(downstream: string): void {
    const now = this.#clock.now();
    for (const [key, open] of this.#open) {
      if (open.latest.downstream !== downstream) continue;
      open.endsAt = Math.min(open.endsAt, open.lastAt + open.quietMs);
      open.anew = undefined;
      this.#look(key, open, now);
    }
  }

  /** An incident is known to be over. */
  end(name: AlertName, downstream: string): void {
    const key = incidentKey({ name, downstream });
    const open = this.#open.get(key);
    if (open === undefined) return;
    const now = this.#clock.now();
    open.endsAt = now;
    this.#look(key, open, now);
  }

  /** Tells what is due: time has passed, or who is muted has changed. */
  review(): void {
    const now = this.#clock.now();
    for (const [key, open] of this.#open) this.#look(key, open, now);
  }

  /** Forgets everything that is open; nobody is told. */
  stop(): void {
    this.#open.clear();
    this.#alarm.cancel();
  }

  isMuted(downstream: string): boolean {
    return this.#mutedForMs(downstream) > 0;
  }

  /** Tells what is due for one incident, and sees to it that it is looked at again. */
  #look(key: string, open: Open, now: number): void {
    if (now >= open.endsAt) {
      this.#open.delete(key);
      if (this.#open.size === 0) this.#alarm.cancel();
      this.#tellEnd(open);
      return;
    }
    const mutedForMs = this.#mutedForMs(open.latest.downstream);
    if (mutedForMs > 0) {
      // Whatever a sink heard before, it hears how things stand when it may be told again.
      this.#readers.forEach((reader, at) => {
        if (open.told[at] !== undefined) open.told[at] = reader.withdraw(open.latest) ? { ...NEVER } : undefined;
      });
      this.#alarm.set(Math.min(open.endsAt, now + mutedForMs));
      return;
    }
    let next = Math.min(open.endsAt, reviewed(open, now));
    this.#readers.forEach((reader, at) => {
      next = Math.min(next, this.#tellReader(reader, at, open, now));
    });
    this.#alarm.set(next);
  }

  /** Returns when this reader is due for the next word. */
  #tellReader(reader: Reader, at: number, open: Open, now: number): number {
    const told = open.told[at];
    if (told === undefined) {
      if (!reader.accepts(open.latest)) return Number.POSITIVE_INFINITY;
      const first = { state: open.state, at: now };
      open.told[at] = first;
      reader.tell(open.latest, false);
      return dueAt(first, open, reader);
    }
    // What waits can still be made to say how things stand: that is no message more.
    if (told.state !== open.state && told.state !== '' && reader.refresh(open.latest)) told.state = open.state;
    if (now >= dueAt(told, open, reader)) {
      told.state = open.state;
      told.at = now;
      reader.tell(open.latest, true);
    }
    return dueAt(told, open, reader);
  }

  #tellEnd(open: Open): void {
    const { since, latest, quietMs, count } = open;
    const at = isoInstant(this.#clock.wallNow());
    const ended: Alert = {
      ...latest,
      id: this.#newId(),
      status: 'resolved',
      at,
      endsAt: at,
      action: { kind: 'none' },
      explanation: explainEnd(latest, since, quietMs, count),
    };
    this.#readers.forEach((reader, index) => {
      if (open.told[index] !== undefined) reader.tell(ended, false);
    });
  }

  #tellOnce(alert: Alert): void {
    if (this.isMuted(alert.downstream)) return;
    for (const reader of this.#readers) if (reader.accepts(alert)) reader.tell(alert, false);
  }

  #mutedForMs(downstream: string): number {
    const until = this.#mutedUntil(downstream);
    return until === undefined ? 0 : until - this.#clock.wallNow();
  }
}

/** Brings a paused incident up to date where that is due; returns when it is due again. */
function reviewed(open: Open, now: number): number {
  const { anew, pausedUntil } = open;
  if (anew === undefined || now >= pausedUntil) return Number.POSITIVE_INFINITY;
  if (now >= open.reviewAt) {
    open.latest = anew();
    open.state = stateOf(open.latest, open.count);
    open.reviewAt = now + REVIEW_MS;
  }
  return open.reviewAt;
}

/** Whether it is said once an hour for as long as it lasts. */
export function isHourly(name: AlertName): boolean {
  return HOURLY.has(name);
}

/** Alerts with the same key are about the same thing: a newer one says all that an older one said. */
export function incidentKey({ name, downstream, lane }: Pick<Alert, 'name' | 'downstream' | 'lane'>): string {
  return lane === undefined ? `${name} ${downstream}` : `${name} ${downstream} ${lane}`;
}

/** Told in a state that nothing is in, long ago: due at once. */
const NEVER: Readonly<Told> = { state: '', at: Number.NEGATIVE_INFINITY };

/** When a reader that was told is to be told again; `Infinity` where nothing is to be said. */
function dueAt({ state, at }: Told, open: Open, { repeatMs }: Reader): number {
  const repeatAt = repeatMs === undefined ? Number.POSITIVE_INFINITY : at + repeatMs;
  if (state === open.state) return repeatAt;
  const changeAt = at + QUIET_MS;
  // The end says all that the change would have said.
  return Math.min(repeatAt, open.endsAt - changeAt <= NEAR_END_MS ? Number.POSITIVE_INFINITY : changeAt);
}

/** What a reader would want to hear of again: severity, hold, order of magnitude of the count. */
function stateOf({ severity, action }: Alert, count: number): string {
  return [severity, action.kind, action.cause, action.until, String(count).length].join(' ');
}
