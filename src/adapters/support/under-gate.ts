import { AsyncLocalStorage } from 'node:async_hooks';
import { HOST_ACCOUNT } from '../../base/hosts.ts';
import { type HearingCall, type Inside, KNOWN, type WatchedCall } from '../../base/inside.ts';
import { isThenable } from '../../base/text.ts';
import type { Call } from '../../dispatch/context.ts';
import { permitsOf, stand } from './around.ts';

/** Whose lane a request takes: a downstream's, or that of one host under it. */
interface Lane {
  readonly downstream: string;
  readonly account?: string | undefined;
}

/** A request that has its permit, as whoever sends it knows it. */
export interface Permitted {
  readonly inside: Inside;
  readonly lane: Lane;
  readonly call: Call;
  /** Tells the lane of an answer that reaches nobody. */
  readonly report: (answer: unknown) => void;
}

/** The permit under which a request is being sent. */
export interface Passed extends Permitted {
  /** What a call around it has: it may be a call of another lane. */
  readonly outer: Passed | undefined;
  /** A program's own call, which may make of an answer what it likes: the lane hears of each at once. */
  readonly isCover: boolean;
  /** Requests that it is still good for: one. What follows under it, a redirect or a retry, takes its own. */
  left: number;
  /** What comes of it is known to the lane: the answers of those that follow are learned as theirs. */
  isFollowed: boolean;
  /** Its request has been answered: what still runs in its context is somebody else's. */
  isOver: boolean;
  /** What the request under it was answered, as far as a gate further down has seen it. */
  answer: unknown;
}

const passed = new AsyncLocalStorage<Passed>();

/** Sends a request that has its permit: a gate further down lets it pass. */
export async function underGate<T>(permitted: Permitted, send: () => Promise<T>): Promise<T> {
  const permit = passedBy(permitted, 1, false);
  try {
    const answer = await passed.run(permit, send);
    if (permit.isFollowed) (permit.call as HearingCall)[KNOWN]?.(answer);
    return answer;
  } finally {
    permit.isOver = true;
  }
}

/**
 * From now on a request that is made within a call of its own downstream goes under the permit of that call: a tool
 * behind the gate may use a client behind the gate, and neither pays nor waits twice. `report` as the dispatcher's.
 */
export function coverCalls(inside: Inside, report: (lane: Lane, answer: unknown) => void): void {
  if (inside.watching.cover !== undefined) return;
  const run = <C extends WatchedCall>(call: C, fn: (call: C) => unknown): unknown => {
    const { account } = call.host;
    const lane = {
      downstream: call.plan.name,
      account: account?.startsWith(HOST_ACCOUNT) === true ? account : undefined,
    };
    const permitted = {
      inside,
      lane,
      call: call as unknown as Call,
      report: (answer: unknown) => report({ ...lane, account }, answer),
    };
    const permit = passedBy(permitted, permitsOf(call), true);
    let result: unknown;
    try {
      result = passed.run(permit, fn, call);
    } catch (error) {
      over(permit, error);
      throw error;
    }
    if (isThenable(result)) return settled(permit, result);
    return over(permit, result);
  };
  stand(inside.watching, 'cover', { run });
}

async function settled(permit: Passed, result: PromiseLike<unknown>): Promise<unknown> {
  try {
    return over(permit, await result);
  } catch (error) {
    throw over(permit, error);
  }
}

/** The call has come to its end: of what it made of an answer that the lane has heard, nothing is news. */
function over(permit: Passed, outcome: unknown): unknown {
  permit.isOver = true;
  if (permit.isFollowed) (permit.call as HearingCall)[KNOWN]?.(outcome);
  return outcome;
}

function passedBy(permitted: Permitted, left: number, isCover: boolean): Passed {
  const outer = passed.getStore();
  return { ...permitted, outer, isCover, left, isFollowed: false, isOver: false, answer: undefined };
}

/** The permit of this lane that what is sent here goes under; undefined where it has none. */
export function permitFor(inside: Inside, { downstream, account }: Lane): Passed | undefined {
  for (let permit = passed.getStore(); permit !== undefined; permit = permit.outer) {
    if (permit.inside !== inside || permit.isOver) continue;
    if (permit.lane.downstream === downstream && permit.lane.account === account) return permit;
  }
  return undefined;
}

/** A request under a permit that was good for it has been answered. */
export function answered(permit: Passed, answer: unknown): void {
  if (!permit.isCover) {
    permit.answer = answer;
    return;
  }
  permit.isFollowed = true;
  permit.report(answer);
}

/**
 * Sends a request that follows another under its permit, with one of its own in the place of the call that both belong
 * to: that waits for it. What the one before was answered reaches nobody else.
 */
export function follow<T>(permit: Passed, signal: AbortSignal | undefined, send: () => Promise<T>): Promise<T> {
  const { answer } = permit;
  permit.answer = undefined;
  permit.isFollowed = true;
  if (answer !== undefined) permit.report(answer);
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    const started = permit.call.run(() => {
      signal?.throwIfAborted();
      return send();
    });
    started.then(resolve, reject).finally(() => signal?.removeEventListener('abort', abort));
  });
}
