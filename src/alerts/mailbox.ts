import Bottleneck from 'bottleneck';
import type { Alert } from '../base/alert.ts';
import type { Clock } from '../base/clock.ts';
import { incidentKey } from './incidents.ts';
import type { PacedSink } from './sink.ts';

export interface MailboxOptions {
  readonly clock: Clock;
  /** Told at the first failure of a row; a delivery that works ends the row. */
  readonly onFailure: (sink: string, alert: Alert, error: unknown) => void;
}

/** A delivery that takes longer has failed. */
const ATTEMPT_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;
/** Ten deliveries a second, so that an outage of everything at once is no storm at the sink. */
const SPACING_MS = 100;
/** One entry per alert name and downstream; more than this many can only be a leak of names. */
const MOST_ENTRIES = 1_000;

/** What waits to be told about one thing; a newer alert takes the place of one that has not gone out. */
interface Entry {
  readonly key: string;
  alert: Alert;
  attempts: number;
  /** Settles when the attempt under way has ended; absent while the entry sits out a back-off. */
  job: Promise<void> | undefined;
  cancelRetry: (() => void) | undefined;
}

/**
 * The alerts that wait for one sink. Bottleneck paces them, one delivery at a time; an attempt that
 * fails is scheduled anew after a back-off, because Bottleneck's own retry would pass its pacing by.
 * Nothing is given up while the mailbox is open: an entry leaves when it was delivered.
 */
export class Mailbox {
  readonly sink: PacedSink;
  dropped = 0;
  readonly #entries = new Map<string, Entry>();
  readonly #clock: Clock;
  readonly #onFailure: MailboxOptions['onFailure'];
  #limiter: Bottleneck | undefined;
  #wallSeen = 0;
  #isFailing = false;
  #isClosed = false;
  #abortAttempt: (() => void) | undefined;

  constructor(sink: PacedSink, options: MailboxOptions) {
    this.sink = sink;
    this.#clock = options.clock;
    this.#onFailure = options.onFailure;
  }

  get pending(): number {
    return this.#entries.size;
  }

  send(alert: Alert): void {
    const key = incidentKey(alert);
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      entry.alert = alert;
      return;
    }
    if (this.#isClosed || this.#entries.size >= MOST_ENTRIES) {
      this.dropped += 1;
      return;
    }
    const fresh: Entry = { key, alert, attempts: 0, job: undefined, cancelRetry: undefined };
    this.#entries.set(key, fresh);
    this.#schedule(fresh);
  }

  /** Tries everything that waits once, without sitting out back-offs. */
  async flush(): Promise<void> {
    const waiting = [...this.#entries.values()];
    for (const entry of waiting) {
      if (entry.cancelRetry === undefined) continue;
      entry.cancelRetry();
      this.#schedule(entry);
    }
    await Promise.all(waiting.map((entry) => entry.job));
  }

  /** Takes nothing more; what has not gone out by now is dropped, a delivery under way is aborted. */
  dispose(): void {
    this.#isClosed = true;
    this.dropped += this.#entries.size;
    for (const entry of this.#entries.values()) entry.cancelRetry?.();
    this.#entries.clear();
    this.#abortAttempt?.();
    void this.#limiter?.stop({ dropWaitingJobs: true }).catch(() => undefined);
    this.#limiter = undefined;
  }

  #schedule(entry: Entry): Promise<void> {
    entry.cancelRetry = undefined;
    entry.job = this.#pacer()
      .schedule(() => this.#attempt(entry))
      .then(
        (again) => (again ? this.#schedule(entry) : undefined),
        () => undefined,
      );
    return entry.job;
  }

  /** Bottleneck paces by the wall clock: after a step back it would sit the whole step out. */
  #pacer(): Bottleneck {
    const wallMs = this.#clock.wallNow();
    const hasSteppedBack = wallMs < this.#wallSeen && this.#entries.size === 1;
    this.#wallSeen = wallMs;
    if (this.#limiter === undefined || hasSteppedBack) {
      this.#limiter = new Bottleneck({ maxConcurrent: 1, minTime: this.sink.spacingMs ?? SPACING_MS });
    }
    return this.#limiter;
  }

  /** Resolves to whether a newer alert came in meanwhile. Never rejects. */
  async #attempt(entry: Entry): Promise<boolean> {
    if (this.#isClosed) return false;
    const { alert } = entry;
    try {
      await this.#deliver(alert);
    } catch (error) {
      this.#failed(entry, error);
      return false;
    }
    this.#isFailing = false;
    entry.attempts = 0;
    if (entry.alert !== alert && !this.#isClosed) return true;
    this.#entries.delete(entry.key);
    return false;
  }

  #failed(entry: Entry, error: unknown): void {
    if (this.#isClosed) return;
    entry.job = undefined;
    entry.attempts += 1;
    const backOffMs = Math.min(FIRST_RETRY_MS * 2 ** (entry.attempts - 1), LONGEST_RETRY_MS);
    entry.cancelRetry = this.#clock.setTimer(backOffMs, () => this.#schedule(entry), { keepAlive: false });
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#onFailure(this.sink.name, entry.alert, error);
  }

  /** One delivery within its time; what the sink does later is of no interest. At once where it is synchronous. */
  async #deliver(alert: Alert): Promise<void> {
    const controller = new AbortController();
    const delivery: unknown = this.sink.deliver(alert, controller.signal);
    if (typeof delivery !== 'object' || delivery === null || !('then' in delivery)) return;
    let cancelTimer = (): void => undefined;
    const overdue = new Promise<never>((_, reject) => {
      const stop = (reason: Error): void => {
        reject(reason);
        controller.abort(reason);
      };
      cancelTimer = this.#clock.setTimer(ATTEMPT_MS, () => stop(named('TimeoutError', 'took too long')));
      this.#abortAttempt = () => stop(named('AbortError', 'the outbox was closed'));
    });
    try {
      await Promise.race([delivery, overdue]);
    } finally {
      cancelTimer();
      this.#abortAttempt = undefined;
    }
  }
}

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
