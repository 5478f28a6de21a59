import type { Alert } from '../base/alert.ts';
import type { Clock } from '../base/clock.ts';
import { Alarm } from './alarm.ts';
import { beginAttempt } from './attempt.ts';
import { askedWaitMs, backOffMs } from './back-off.ts';
import type { Failure } from './failure.ts';
import { Health, type HealthPorts } from './health.ts';
import { incidentKey } from './incidents.ts';
import { Pacer } from './pacer.ts';
import type { PacedSink } from './sink.ts';
import { type Entry, MOST_ENTRIES, Waiting } from './waiting.ts';

export interface MailboxPorts extends HealthPorts {
  readonly random: () => number;
}

/** Ten deliveries a second, so that an outage of everything at once is no storm at the sink. */
const SPACING_MS = 100;
const LONGEST_SPACING_MS = 86_400_000;
const MOST_AT_ONCE = 100;
/** So often in a row may a sink fail before a single alert is suspected rather than the sink. */
const FAILURES_OF_A_SINK = 3;
/** An answer with one of these is about what was sent, not about where it was sent. */
const ABOUT_THE_ALERTS: ReadonlySet<number | undefined> = new Set([400, 413, 422, undefined]);

/** An attempt at everything that waits, whatever the back-off. */
interface Drain {
  /** Until then it waits for a receiver that asked for time. */
  until: number;
  failures: number;
  readonly failed: Set<Entry>;
}

/**
 * The alerts that wait for one sink: one delivery at a time, several alerts at once where the sink takes
 * them. Bottleneck paces the deliveries; an attempt that fails is scheduled anew after a back-off of the whole
 * sink, because Bottleneck's own retry would pass its pacing by. An entry leaves when it was delivered, or
 * when its receiver has refused it for good. All instants are monotonic.
 */
export class Mailbox {
  readonly label: string;
  readonly health: Health;
  readonly tally = { delivered: 0, replaced: 0, dropped: 0 };
  readonly #sink: PacedSink;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #mostAtOnce: number;
  readonly #pacer: Pacer;
  readonly #alarm: Alarm;
  readonly #waiting = new Waiting();
  #sending: readonly Entry[] = [];
  /** The delivery that is scheduled or under way, and what follows from it. */
  #round: Promise<void> | undefined;
  #abort: (() => void) | undefined;
  /** What the receiver asked for: nothing is sent before, not by a flush either. */
  #heldUntil = 0;
  #backOffUntil = 0;
  #failures = 0;
  /** Most alerts in the next delivery: 1 once batches have failed in a row, doubled by each that goes out. */
  #limit: number;
  /** Has just failed, and the next goes before the back-off: is it the sink or this alert? */
  #suspect: Entry | undefined;
  #drain: Drain | undefined;
  #onHoldEnd: (() => void) | undefined;
  #isClosed = false;

  constructor(sink: PacedSink, label: string, ports: MailboxPorts) {
    this.label = label;
    this.#sink = sink;
    this.#clock = ports.clock;
    this.#random = ports.random;
    const spacingMs = Math.min(atLeast(0, sink.spacingMs, SPACING_MS), LONGEST_SPACING_MS);
    this.#pacer = new Pacer(spacingMs);
    this.#alarm = new Alarm(ports.clock, () => {
      this.#wake();
      this.#onHoldEnd?.();
    });
    this.#mostAtOnce = sink.deliverAll === undefined ? 1 : Math.floor(atLeast(1, sink.mostAtOnce, MOST_AT_ONCE));
    this.#limit = this.#mostAtOnce;
    this.health = new Health(label, ports, () => ({ pending: this.pending, dropped: this.tally.dropped }));
  }

  get pending(): number {
    return this.#waiting.size + this.#sending.length;
  }

  /** No attempt is made before. */
  get pausedUntil(): number {
    return Math.max(this.#heldUntil, this.#backOffUntil);
  }

  /** `isUpdate`: the sink has been told of this incident already. */
  send(alert: Alert, isUpdate: boolean): void {
    if (this.#isClosed) {
      this.tally.dropped += 1;
      return;
    }
    const put = this.#waiting.put(alert, isUpdate, this.#sending.length);
    if (put === 'replaced') this.tally.replaced += 1;
    if (put === 'evicted' || put === 'full') this.tally.dropped += 1;
    if (put === 'full') this.health.full(alert);
    else if (this.#round === undefined) this.#startAt(this.pausedUntil);
  }

  /** A newer word for what has not gone out; false where nothing waits. */
  refresh(alert: Alert): boolean {
    const isWaiting = this.#waiting.refresh(alert);
    if (isWaiting) this.tally.replaced += 1;
    return isWaiting;
  }

  /** Nobody is to be told this now; false where the sink has not been told of the incident before, either. */
  withdraw(alert: Alert): boolean {
    const key = incidentKey(alert);
    const underWay = this.#sending.find((entry) => entry.key === key);
    // It may have arrived.
    if (underWay !== undefined) underWay.isWithdrawn = true;
    const waiting = this.#waiting.withdraw(key);
    return waiting === undefined || waiting.isUpdate || underWay !== undefined;
  }

  /**
   * Tries everything that waits once, without sitting out back-offs; after three failures the rest counts
   * as failed. For a receiver that asked for time it waits `patienceMs` at most.
   */
  async flush(patienceMs = 0): Promise<void> {
    if (this.#isClosed) return;
    const until = this.#clock.now() + patienceMs;
    this.#drain ??= { until, failures: 0, failed: new Set() };
    const drain = this.#drain;
    drain.until = Math.max(drain.until, until);
    this.#backOffUntil = 0;
    this.#suspect = undefined;
    this.#wake();
    for (;;) {
      if (this.#round !== undefined) await this.#round;
      else if (this.#waiting.size > 0 && this.#isHeld() && this.#heldUntil <= drain.until) await this.#holdEnd();
      else break;
    }
    if (this.#drain !== drain) return;
    this.#drain = undefined;
    this.#wake();
  }

  /** Takes nothing more; what has not gone out by now is dropped, a delivery under way is aborted. */
  dispose(): void {
    this.#isClosed = true;
    this.tally.dropped += this.pending;
    this.#waiting.clear();
    this.#sending = [];
    this.#alarm.cancel();
    this.#abort?.();
    this.#onHoldEnd?.();
    this.#pacer.stop();
  }

  /** Goes on with what is due, or sets the alarm for what will be. */
  #wake(): void {
    if (this.#isClosed || this.#round !== undefined || this.#waiting.size === 0) return;
    const drain = this.#drain;
    if (drain === undefined) {
      this.#startAt(Math.max(this.pausedUntil, this.#waiting.dueAt()));
    } else if (drain.failures < FAILURES_OF_A_SINK && this.#waiting.some(this.#mayGo)) {
      // What has failed once waits for the end of the flush.
      this.#startAt(this.#heldUntil);
    }
  }

  readonly #mayGo = (entry: Entry): boolean => {
    if (this.#drain !== undefined) return !this.#drain.failed.has(entry);
    return entry !== this.#suspect && entry.notBefore <= this.#clock.now();
  };

  #startAt(at: number): void {
    if (at > this.#clock.now()) {
      this.#alarm.set(at);
      return;
    }
    this.#alarm.cancel();
    this.#round = this.#pacer
      .run(() => this.#deliver())
      .then(() => {
        this.#round = undefined;
        this.#wake();
      });
  }

  async #deliver(): Promise<void> {
    const batch = this.#isClosed || this.#isHeld() ? [] : this.#waiting.take(this.#limit, this.#mayGo);
    const [first] = batch;
    if (first === undefined) {
      this.#suspect = undefined;
      return;
    }
    this.#sending = batch;
    const sink = this.#sink;
    const alerts = batch.map(({ alert }) => alert);
    const attempt = beginAttempt(this.#clock, (signal) =>
      sink.deliverAll === undefined ? sink.deliver(first.alert, signal) : sink.deliverAll(alerts, signal),
    );
    this.#abort = attempt.abort;
    const failure = await attempt.outcome;
    this.#abort = undefined;
    if (this.#isClosed) return;
    this.#sending = [];
    if (failure === undefined) this.#delivered(batch.length);
    else if (failure.isRetryable) this.#failed(batch, first, failure);
    else this.#refused(batch, first, failure);
  }

  #delivered(count: number): void {
    this.tally.delivered += count;
    this.#limit = Math.min(this.#limit * 2, this.#mostAtOnce);
    this.#answered();
    this.health.worked(this.#waiting.size < MOST_ENTRIES / 2);
  }

  /** The receiver is there: what failed just before this failed by itself. */
  #answered(): void {
    this.#failures = 0;
    this.#backOffUntil = 0;
    if (this.#suspect !== undefined) this.#setAside(this.#suspect);
    this.#suspect = undefined;
    for (const entry of this.#drain?.failed ?? []) this.#setAside(entry);
  }

  #setAside(entry: Entry): void {
    entry.isSuspect = true;
    entry.isAlone = true;
    entry.notBefore = this.#clock.now() + backOffMs(entry.failures, this.#random);
  }

  #failed(batch: readonly Entry[], first: Entry, failure: Failure): void {
    const now = this.#clock.now();
    const { retryAfterMs } = failure;
    const isAskedToWait = failure.status === 429 || retryAfterMs !== undefined;
    for (const entry of batch) entry.failures += 1;
    this.tally.replaced += this.#waiting.putBack(batch);
    if (retryAfterMs !== undefined) this.#heldUntil = now + askedWaitMs(retryAfterMs, this.#random);
    if (this.#drain !== undefined && !this.#isHeld()) {
      this.#drain.failures += 1;
      for (const entry of batch) this.#drain.failed.add(entry);
    }
    const isItsOwn = !isAskedToWait && batch.length === 1 && first.isSuspect && this.#failures === 0;
    if (isItsOwn) {
      this.#setAside(first);
    } else if (!isAskedToWait && this.#isInDoubt(batch, first)) {
      this.#suspect = first;
    } else {
      this.#suspect = undefined;
      // A flush tries many at once and is one attempt at the sink.
      if (this.#drain === undefined || this.#drain.failures <= 1) this.#failures += 1;
      this.#backOffUntil = now + backOffMs(this.#failures, this.#random);
      if (this.#failures >= FAILURES_OF_A_SINK) this.#limit = 1;
    }
    this.health.failed(failure, first.alert, Math.max(0, this.pausedUntil - now));
  }

  /** Whether to try the next entry at once, to see what is at fault: this one or the sink. */
  #isInDoubt(batch: readonly Entry[], first: Entry): boolean {
    if (this.#drain !== undefined || this.#suspect !== undefined) return false;
    if (batch.length > 1 || this.#failures < FAILURES_OF_A_SINK - 1) return false;
    const now = this.#clock.now();
    return this.#waiting.some((entry) => entry !== first && entry.notBefore <= now);
  }

  /** Nothing is sent again that the receiver may have taken, except where nobody can know which it took. */
  #refused(batch: readonly Entry[], first: Entry, failure: Failure): void {
    this.#answered();
    const refused = batch.filter(({ alert }) => failure.refused?.includes(alert) === true);
    if (refused.length === 0 && batch.length > 1 && ABOUT_THE_ALERTS.has(failure.status)) {
      for (const entry of batch) entry.isAlone = true;
      this.tally.replaced += this.#waiting.putBack(batch);
      return;
    }
    const lost = refused.length === 0 ? batch.length : refused.length;
    this.tally.delivered += batch.length - lost;
    this.tally.dropped += lost;
    this.health.gaveUp(failure, (refused[0] ?? first).alert, lost);
  }

  #isHeld(): boolean {
    return this.#heldUntil > this.#clock.now();
  }

  #holdEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.#onHoldEnd = resolve;
    });
  }
}

function atLeast(least: number, value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= least ? value : otherwise;
}
