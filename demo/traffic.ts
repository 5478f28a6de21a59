import { setTimeout as sleep } from 'node:timers/promises';
import type { Ask, Contestant } from './contestant.ts';

/** What became of one call, as the one who made it saw it. */
export interface End {
  readonly answered: boolean;
  /** From the call to its answer, or to the moment its caller knew that none would come. */
  readonly waitedMs: number;
  /** The refusal's code, where the gate said no. */
  readonly code?: string;
}

/** Traffic that goes on until it is stopped. `stop` resolves with every end. */
export interface Traffic {
  readonly stop: () => Promise<readonly End[]>;
}

/** Starts a call every `everyMs`, on a fixed grid: a slow answer delays no later call. */
export function steady(everyMs: number, call: (n: number) => Promise<End>): Traffic {
  const ends: Promise<End>[] = [];
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const tick = () => {
    ends.push(call(ends.length));
    timer = setTimeout(tick, Math.max(0, startedAt + ends.length * everyMs - performance.now()));
  };
  tick();
  return {
    stop() {
      clearTimeout(timer);
      return Promise.all(ends);
    },
  };
}

/** Somebody else's job on the same quota: one request, no retry, whatever the answer. */
export function neighbour(url: string, consumer: string, everyMs: number): Traffic {
  const headers = { 'x-consumer': consumer };
  return steady(everyMs, (n) => timed(() => fetch(`${url}/v1/deliveries/${consumer}-${n}`, { headers })));
}

/** A person who waits: one call every `everyMs`, each worth nothing after `deadlineMs`. */
export function customer(contestant: Contestant, everyMs: number, deadlineMs: number): Traffic {
  return steady(everyMs, (n) => {
    const call: Ask = {
      tool: 'track_for_customer',
      delivery: `customer-${n}`,
      kind: 'customer',
      deadline: Date.now() + deadlineMs,
    };
    return timed(() => contestant.ask(call));
  });
}

export interface FanOut {
  readonly ends: readonly End[];
  /** First call to last end. */
  readonly tookMs: number;
}

/** The ticket number `n`, worth nothing after `deadlineMs`. */
export function ticket(contestant: Contestant, n: number, deadlineMs: number): Promise<Response> {
  return contestant.ask({
    tool: 'get_delivery_status',
    delivery: `ticket-${n}`,
    kind: 'ticket',
    deadline: Date.now() + deadlineMs,
  });
}

/** `calls` tickets that arrive evenly over `spreadMs`. `onEnd` hears how many have ended and how many of them were answered. */
export async function fanOut(
  ask: (n: number) => Promise<Response>,
  calls: number,
  spreadMs: number,
  onEnd: (ended: number, answered: number) => void = () => {},
): Promise<FanOut> {
  const startedAt = performance.now();
  const ends: Promise<End>[] = [];
  let ended = 0;
  let answered = 0;
  while (ends.length < calls) {
    const due = Math.floor(((performance.now() - startedAt) / spreadMs) * calls) + 1;
    while (ends.length < Math.min(due, calls)) {
      const end = timed(() => ask(ends.length));
      ends.push(end);
      void end.then((it) => {
        ended += 1;
        if (it.answered) answered += 1;
        onEnd(ended, answered);
      });
    }
    await sleep(2);
  }
  const all = await Promise.all(ends);
  return { ends: all, tookMs: performance.now() - startedAt };
}

/** Runs a call to its end; never rejects. */
export async function timed(call: () => Promise<Response>): Promise<End> {
  const startedAt = performance.now();
  const waitedMs = () => performance.now() - startedAt;
  try {
    const response = await call();
    await response.arrayBuffer();
    return { answered: response.ok, waitedMs: waitedMs() };
  } catch (error) {
    const code = codeOf(error);
    return code === undefined
      ? { answered: false, waitedMs: waitedMs() }
      : { answered: false, waitedMs: waitedMs(), code };
  }
}

function codeOf(error: unknown): string | undefined {
  const isCoded = typeof error === 'object' && error !== null && 'code' in error;
  return isCoded && typeof error.code === 'string' ? error.code : undefined;
}
