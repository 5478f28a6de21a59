import { formatDuration } from '../../base/duration.ts';
import { HEAR, HEARD, type HearingCall } from '../../base/inside.ts';
import type { Dispatcher } from '../../contract.ts';
import type { Call, CallContext } from '../../dispatch/context.ts';
import { insideOf } from './inside.ts';
import { streamingOf } from './stream-end.ts';
import type { Streaming } from './streaming.ts';

/** A stream that nobody reads gives its place back after this. */
export const UNREAD_AFTER_MS = 60_000;

export interface HoldOptions {
  /** A stream that nobody has begun to read is let go after this many milliseconds, with the event `body-unread`. Default: 60 000. */
  readonly unreadAfterMs?: number | undefined;
}

/**
 * Runs `fn` as `callDownstream` does, and hands on what it returns as soon as it does; where that is a stream (an
 * AsyncIterable, a ReadableStream, a Node stream, a response with a body), the call counts as running until
 * the stream has ended: read to its end, closed early (`return()`, `cancel()`), or failed. What the stream throws
 * is judged like what `fn` throws. At the deadline an AsyncIterable rejects, whatever it waits for; other streams end
 * where `fn` has handed `call.signal` to what makes them.
 *
 * What is returned is the very object that `fn` returned, unread; of an AsyncIterable the methods that read it are
 * replaced in place.
 *
 * @example
 * const parts = await holdToEnd(dispatcher, 'model', ({ signal }) => answer(prompt, { signal }), { deadline });
 * for await (const part of parts) show(part);
 */
export function holdToEnd<T, Name extends string = string>(
  dispatcher: Dispatcher<Name>,
  downstream: Name,
  fn: (call: Call) => T,
  ctx?: CallContext,
  options: HoldOptions = {},
): Promise<Awaited<T>> {
  return new Promise((resolve, reject) => {
    let held: Streaming | undefined;
    let over: { readonly reason: unknown } | undefined;
    const run = async (call: Call): Promise<unknown> => {
      const value = await fn(call);
      held = isRefused(call, value) ? undefined : streamingOf(value);
      if (held === undefined) return value;
      // Its caller has had its answer while `fn` ran: nobody will read this.
      if (over !== undefined) held.fail(over.reason);
      resolve(held.value as Awaited<T>);
      return endOf(dispatcher, downstream, held, options.unreadAfterMs ?? UNREAD_AFTER_MS);
    };
    (dispatcher as unknown as Dispatcher).callDownstream(downstream, run, ctx).then(
      (value) => resolve(value as Awaited<T>),
      (reason: unknown) => {
        over = { reason };
        held?.fail(reason);
        reject(reason);
      },
    );
  });
}

/**
 * The lane hears at once what an answer's headers say: times in them count from now, not from the end of a body.
 * True where the answer is an error (429, 5xx): that is learned at once and whole, and its body holds no place.
 */
function isRefused(call: Call, value: unknown): boolean {
  return (call as HearingCall)[HEAR]?.(value) === false;
}

/** Resolves, or rejects with what the stream has thrown, when it is over or has been left unread for too long. */
export function endOf<Name extends string>(
  dispatcher: Dispatcher<Name>,
  downstream: Name,
  held: Pick<Streaming, 'ended' | 'isRead'>,
  unreadAfterMs: number,
): Promise<typeof HEARD> {
  const { clock, emit } = insideOf(dispatcher, 'holdToEnd');
  return new Promise((resolve, reject) => {
    const wait = (): (() => void) => clock.setTimer(unreadAfterMs, look, { keepAlive: false });
    const look = (): void => {
      if (held.isRead()) {
        cancel = wait();
        return;
      }
      const detail = `Nobody has read an answer for ${formatDuration(unreadAfterMs)}; its place was given back. Read it to its end, or cancel it.`;
      emit({ at: clock.wallNow(), downstream, type: 'body-unread', detail });
      resolve(HEARD);
    };
    let cancel = wait();
    held.ended.then(
      () => {
        cancel();
        resolve(HEARD);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
