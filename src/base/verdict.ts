import type { ServerWord } from './alert.ts';
import type { Outcome } from './words.ts';

/** A call's outcome as `feedback/` reads it. `server.retryAfterMs` is the server's own word, uncapped. */
export interface Verdict {
  readonly outcome: Outcome;
  readonly server?: ServerWord;
}

/** A function that reads an outcome first; `undefined` means "not mine". */
export type Classifier = (outcome: {
  readonly value: unknown;
  readonly thrown: boolean;
  readonly downstream: string;
}) => Verdict | undefined;

/** What the lane asks after every call. Never throws. */
export type Judge = (value: unknown, thrown: boolean) => Verdict;
