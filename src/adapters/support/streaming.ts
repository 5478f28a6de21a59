/** A stream that a call has returned. */
export interface Streaming {
  /** What the caller is given. */
  readonly value: unknown;
  /** Resolves when it was read to its end or closed early; rejects with what it has thrown. */
  readonly ended: Promise<void>;
  /** Whether somebody is reading it. */
  readonly isRead: () => boolean;
  /** Its caller has been answered otherwise: it ends as soon as it can. */
  readonly fail: (reason: unknown) => void;
}
