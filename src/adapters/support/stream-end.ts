import { finished, isErrored } from 'node:stream';
import { HeldIterable } from './held-iterable.ts';
import type { Streaming } from './streaming.ts';

/** A stream of Node or of the web platform, as far as it is used here. */
interface PlainStream {
  readonly locked?: boolean;
  readonly cancel?: (reason?: unknown) => Promise<void>;
  readonly readableFlowing?: boolean | null;
  readonly readableDidRead?: boolean;
  readonly destroy?: (error?: Error) => unknown;
  readonly getReader?: unknown;
  readonly pipe?: unknown;
  readonly on?: unknown;
}

/** What of an answer is looked at. */
interface Answer {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly body?: unknown;
  readonly bodyUsed?: unknown;
  readonly headers?: { readonly get?: (name: string) => unknown } | null;
}

/** What a value streams; undefined for one that is whole already. */
export function streamingOf(value: unknown): Streaming | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const answer = value as Answer;
  if (typeof (answer.status ?? answer.statusCode) === 'number' && 'body' in answer) return bodyOf(answer);
  return (isPlainStream(value) ? plain(value, value) : undefined) ?? HeldIterable.of(value);
}

/** The body of an answer; undefined where there is none to read: 204, HEAD, an empty one. */
function bodyOf(answer: Answer): Streaming | undefined {
  const { body } = answer;
  const isEmpty = answer.bodyUsed === true || answer.headers?.get?.('content-length') === '0';
  if (isEmpty || !isPlainStream(body)) return undefined;
  const streaming = plain(body, answer);
  if (streaming === undefined) return undefined;
  const isRead = (): boolean => {
    // A clone takes the body's place: that the first stream is locked then says nothing.
    const now = answer.body;
    return answer.bodyUsed === true || (isPlainStream(now) && isBeingRead(now));
  };
  return { ...streaming, isRead };
}

function isPlainStream(value: unknown): value is PlainStream {
  if (typeof value !== 'object' || value === null) return false;
  const { getReader, pipe, on } = value as PlainStream;
  return typeof getReader === 'function' || (typeof pipe === 'function' && typeof on === 'function');
}

function plain(stream: PlainStream, value: unknown): Streaming | undefined {
  let isOver = false;
  let ended: Promise<void>;
  try {
    ended = new Promise((resolve, reject) => {
      // It hears of the end without a reader of its own, so that the stream stays as it is.
      finished(stream as NodeJS.ReadableStream, { writable: false }, (error) => {
        isOver = true;
        if (error === undefined || error === null || isClosedEarly(error)) resolve();
        else reject(error);
      });
    });
  } catch {
    // Somebody's own stream, which Node does not know.
    return undefined;
  }
  const fail = (reason: unknown): void => {
    if (isOver) return;
    if (typeof stream.getReader !== 'function') stream.destroy?.(reason as Error);
    // One that has its error tells it to who reads it, unless it is cancelled besides.
    else if (stream.locked !== true && !isErrored(stream as unknown as NodeJS.ReadableStream))
      void stream.cancel?.(reason).catch(() => undefined);
  };
  return { value, ended, isRead: () => isBeingRead(stream), fail };
}

function isBeingRead(stream: PlainStream): boolean {
  return stream.locked === true || stream.readableDidRead === true || stream.readableFlowing === true;
}

/** Whoever destroys a Node stream without an error has had enough of it. */
function isClosedEarly(error: object): boolean {
  return (error as { readonly code?: unknown }).code === 'ERR_STREAM_PREMATURE_CLOSE';
}
