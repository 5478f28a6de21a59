import type { Engine, TurnAsk } from '../../dispatch/engine.ts';

/** What is used of a Bottleneck limiter. */
export interface LimiterLike {
  readonly schedule: (
    options: { readonly priority: number; readonly weight: number },
    job: () => PromiseLike<void>,
  ) => PromiseLike<void>;
  /** Hears of jobs that the limiter throws away. */
  readonly on: (event: 'dropped', listener: (dropped: { readonly task?: unknown }) => void) => unknown;
}

/** Bottleneck serves 0 first, and what does not say has 5. */
const PRIORITIES: Readonly<Record<TurnAsk['priority'], number>> = { nested: 0, interactive: 3, normal: 5, batch: 7 };

/** By job: what is to be done when a limiter drops it. One listener each: Bottleneck takes none off again. */
const drops = new WeakMap<LimiterLike, WeakMap<object, () => void>>();

function dropsOf(limiter: LimiterLike): WeakMap<object, () => void> {
  const known = drops.get(limiter);
  if (known !== undefined) return known;
  const jobs = new WeakMap<object, () => void>();
  // With `rejectOnDrop: false` this is the only word of it.
  limiter.on('dropped', ({ task }) => {
    if (typeof task === 'function') jobs.get(task)?.();
  });
  drops.set(limiter, jobs);
  return jobs;
}

/** Asks a limiter for one turn: a job of its own, which lasts as long as the turn. */
export function askLimiter(limiterNow: () => LimiterLike, ask: TurnAsk): void {
  let isOver = false;
  const drop = (why: unknown): void => {
    if (isOver) return;
    isOver = true;
    ask.dropped(why);
  };
  const job = (): Promise<void> =>
    new Promise((resolve) => {
      if (isOver) {
        resolve();
        return;
      }
      isOver = true;
      ask.granted({ end: resolve });
    });
  // Where it rejects too, that comes first and says more.
  const dropSoon = (): void => {
    void Promise.resolve().then(() => drop(new Error('This job has been dropped by Bottleneck')));
  };
  let done: PromiseLike<void>;
  try {
    const limiter = limiterNow();
    dropsOf(limiter).set(job, dropSoon);
    done = limiter.schedule({ priority: PRIORITIES[ask.priority], weight: ask.weight }, job);
  } catch (error) {
    void Promise.resolve().then(() => drop(error));
    return;
  }
  // One that says it is done without having run the job is as one that has dropped it.
  done.then(dropSoon, drop);
}

/** The engine that asks a limiter, whichever it is by then. */
export function engineOf(limiterNow: () => LimiterLike, options: Omit<Engine, 'ask'>): Engine {
  return { ...options, ask: (ask) => askLimiter(limiterNow, ask) };
}
