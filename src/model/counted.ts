/** So long after its start a request has come to the server's counter, whatever its answer still takes. */
const ON_ITS_WAY_MS = 2_000;

/** A moment at which the server may have counted what an answer says. */
export interface CountedAt {
  readonly agoMs: number;
  /** Starts that came in so many milliseconds up to now may not have been among what it counted. */
  readonly unseenMs: number;
}

const JUST_NOW: readonly CountedAt[] = [{ agoMs: 0, unseenMs: Number.POSITIVE_INFINITY }];
const AS_IT_WAS_SENT: CountedAt = { agoMs: 0, unseenMs: ON_ITS_WAY_MS };

/**
 * When the server may have counted what it says in an answer to a call that began `tookMs` ago: when the call
 * came to it, or as the answer was sent. Both are heeded. Where calls take long, the two must be kept apart: to
 * count all that has started since the call against a window that begins now would stop a lane whose calls take
 * longer than the server's window.
 */
export function countedAt(tookMs: number): readonly CountedAt[] {
  if (!(tookMs > ON_ITS_WAY_MS)) return JUST_NOW;
  return [{ agoMs: tookMs - ON_ITS_WAY_MS, unseenMs: Number.POSITIVE_INFINITY }, AS_IT_WAS_SENT];
}
