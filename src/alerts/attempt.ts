import type { Clock } from '../base/clock.ts';
import { isThenable } from '../base/text.ts';
import { type Failure, failureOf, refusalIn } from './failure.ts';

/** One delivery under way. */
export interface Attempt {
  /** Never rejects; resolves to why it failed, or to nothing. */
  readonly outcome: Promise<Failure | undefined>;
  /** Ends it now, as failed, and fires its signal. */
  readonly abort: () => void;
}

/** A delivery that takes longer has failed. */
const ATTEMPT_MS = 10_000;

/**
 * Makes one delivery within its time, in this turn; what the sink does after that is of no interest. The
 * time keeps the process alive: a program that ends right after a 429 still gets the word out, or waits
 * these seconds for a receiver that hangs.
 */
export function beginAttempt(clock: Clock, run: (signal: AbortSignal) => unknown): Attempt {
  const controller = new AbortController();
  const failed = (error: unknown): Failure => failureOf(error, clock.wallNow());
  const answered = (answer: unknown): Failure | undefined => refusalIn(answer, clock.wallNow());
  let delivery: unknown;
  try {
    delivery = run(controller.signal);
    if (!isThenable(delivery)) return ended(answered(delivery));
  } catch (error) {
    return ended(failed(error));
  }
  let stop!: (reason: Error) => void;
  const stopped = new Promise<never>((_, reject) => {
    stop = (reason) => {
      reject(reason);
      controller.abort(reason);
    };
  });
  const cancelTimer = clock.setTimer(ATTEMPT_MS, () => stop(named('TimeoutError', 'took too long')));
  const outcome = Promise.race([delivery, stopped])
    .then(answered, failed)
    .finally(() => cancelTimer());
  return { outcome, abort: () => stop(named('AbortError', 'the outbox was closed')) };
}

function ended(failure: Failure | undefined): Attempt {
  return { outcome: Promise.resolve(failure), abort: () => undefined };
}

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
