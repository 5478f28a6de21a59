import { AsyncLocalStorage } from 'node:async_hooks';
import { type HearingCall, type Inside, KNOWN } from '../../base/inside.ts';
import type { Call } from '../../dispatch/context.ts';

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
  /** One permit is good for one request: what follows under it, a redirect or a retry, takes its own. */
  isSpent: boolean;
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
  const permit: Passed = { ...permitted, isSpent: false, isFollowed: false, isOver: false, answer: undefined };
  try {
    const answer = await passed.run(permit, send);
    if (permit.isFollowed) (permit.call as HearingCall)[KNOWN]?.(answer);
    return answer;
  } finally {
    permit.isOver = true;
  }
}

/** The permit of this lane that what is sent here goes under; undefined where it has none. */
export function permitFor(inside: Inside, { downstream, account }: Lane): Passed | undefined {
  const permit = passed.getStore();
  if (permit === undefined || permit.inside !== inside || permit.isOver) return undefined;
  return permit.lane.downstream === downstream && permit.lane.account === account ? permit : undefined;
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
