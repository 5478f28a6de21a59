/// <reference lib="esnext.disposable" preserve="true" />
import { systemClock } from '../base/clock.ts';
import { durationMs, parseDuration } from '../base/duration.ts';
import { InvalidCall, isAdmissionError, PolicyError } from '../base/errors.ts';
import type { PolicyChange } from '../base/plan.ts';
import { show } from '../base/text.ts';
import type { Duration } from '../base/words.ts';
import { doorOf, type PolicyDoor } from './door.ts';
import type { PolicyInput } from './input.ts';
import { composePolicy, filesOf, type PolicyFiles, type ReadPolicy, readTexts } from './load.ts';
import { rejectionText } from './rejection.ts';
import { FileSigns } from './signs.ts';

/** Notices of the file system come at once and not always: this often the files are looked at anyway. */
const LOOK_MS = 500;
const SETTLE_MS = 50;
/** What cannot be read, or is wrong, may be half of what is being written: it is believed only after this long. */
const BAD_MS = 500;

export interface WatchOptions {
  /** How long the files must not change before they are applied. Default 50 ms. */
  readonly settle?: Duration | undefined;
}

/** What `watchPolicy` returns. */
export interface PolicyWatch {
  /** Resolves when the files as they were at first have been read, and applied or rejected. */
  readonly ready: Promise<void>;
  /** Ends it; nothing is applied any more. Twice is once. */
  readonly close: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** What a watch needs of a dispatcher. */
export interface PolicyTarget {
  readonly apply: (policy: PolicyInput) => readonly PolicyChange[];
}

/**
 * Applies a policy file, or a base and what is laid over it, whenever it has changed: by an editor, by a rename
 * over it, or by a symbolic link that points elsewhere (a ConfigMap). What the policy does not accept changes
 * nothing; an event `policy-rejected` and an alert `PolicyRejected` tell of it, once for the same content. The
 * environment's overrides are those of the dispatcher. A file that says what is in force already changes nothing.
 * The process may end while it watches; it ends by itself when the dispatcher is closed.
 *
 * @throws {InvalidCall} where `dispatcher` is none.
 * @example
 * const watch = watchPolicy('config/downstreams.yaml', dispatcher);
 */
export function watchPolicy(path: PolicyFiles, dispatcher: PolicyTarget, options?: WatchOptions): PolicyWatch {
  const door = doorOf(dispatcher);
  if (door === undefined) throw invalid('dispatcher', dispatcher, 'what createDispatcher returns');
  const settle = options?.settle ?? SETTLE_MS;
  if (parseDuration(settle) === undefined) throw invalid('settle', settle, 'a duration');
  const watching = new Watching(path, door, durationMs(settle));
  const close = (): Promise<void> => watching.close();
  return { ready: watching.ready, close, [Symbol.asyncDispose]: close };
}

function invalid(field: string, found: unknown, expected: string): InvalidCall {
  const message = `watchPolicy: ${field}: expected ${expected}, found ${show(found)}`;
  return new InvalidCall(message, { downstream: '' });
}

/** What the files say at one moment: a policy, or why there is none. */
type Content = { readonly key: string } & ({ readonly policy: ReadPolicy } | { readonly error: PolicyError });

class Watching {
  readonly ready: Promise<void>;
  readonly #path: PolicyFiles;
  readonly #door: PolicyDoor;
  readonly #settleMs: number;
  readonly #signs = new FileSigns(() => this.#poke());
  #files: readonly string[] = [];
  /** What the files said when they were read last, and since when they say it. */
  #seen: Content | undefined;
  #seenAt = 0;
  /** The content that was acted upon last. */
  #handled: string | undefined;
  #isRejected = false;
  #isLooking = false;
  #isPoked = false;
  #cancelTimer: (() => void) | undefined;
  #isClosed = false;
  #begun: () => void = () => undefined;

  constructor(path: PolicyFiles, door: PolicyDoor, settleMs: number) {
    this.#path = path;
    this.#door = door;
    this.#settleMs = settleMs;
    this.ready = new Promise((resolve) => {
      this.#begun = resolve;
    });
    void this.#start();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    this.#begun();
    await this.#signs.close();
  }

  async #start(): Promise<void> {
    try {
      this.#files = await filesOf(this.#path);
      // Before the first look: what changes after it must be noticed.
      await this.#signs.open(this.#files);
    } catch (error) {
      this.#reject(asPolicyError(error));
      await this.close();
      return;
    }
    if (this.#isClosed) await this.#signs.close();
    else this.#poke();
  }

  /** A look at once; one that is under way is followed by another. */
  #poke(): void {
    this.#isPoked = true;
    if (this.#isLooking || this.#isClosed) return;
    this.#isLooking = true;
    this.#cancelTimer?.();
    void this.#look();
  }

  async #look(): Promise<void> {
    let nextMs = LOOK_MS;
    while (this.#isPoked && !this.#isClosed) {
      this.#isPoked = false;
      const content = await this.#read();
      if (!this.#isClosed) nextMs = this.#see(content);
    }
    this.#isLooking = false;
    if (!this.#isClosed) this.#rest(nextMs);
  }

  #rest(ms: number): void {
    this.#cancelTimer = systemClock.setTimer(
      ms,
      async () => {
        const isSettled = this.#seen?.key === this.#handled;
        if (isSettled && !(await this.#signs.haveChanged())) {
          if (!this.#isClosed && !this.#isLooking) this.#rest(LOOK_MS);
        } else this.#poke();
      },
      { keepAlive: false },
    );
  }

  async #read(): Promise<Content> {
    let key = '';
    try {
      await this.#signs.note();
      const texts = await readTexts(this.#files);
      key = JSON.stringify(texts);
      if (this.#seen?.key === key) return this.#seen;
      return { key, policy: await composePolicy(texts, this.#door.env) };
    } catch (error) {
      const policyError = asPolicyError(error);
      return { key: key === '' ? policyError.message : key, error: policyError };
    }
  }

  /** Acts on a content that has stood still for long enough; how soon it is to be looked at again. */
  #see(content: Content): number {
    const now = systemClock.now();
    if (content.key !== this.#seen?.key) {
      this.#seen = content;
      this.#seenAt = now;
    }
    if (content.key === this.#handled) return LOOK_MS;
    const leftMs = this.#seenAt + ('error' in content ? Math.max(BAD_MS, this.#settleMs) : this.#settleMs) - now;
    if (leftMs > 0) return leftMs;
    this.#handled = content.key;
    if ('error' in content) this.#reject(content.error);
    else this.#accept(content.policy);
    this.#begun();
    return LOOK_MS;
  }

  #accept({ policy, plan }: ReadPolicy): void {
    try {
      if (!this.#door.isInForce(plan)) this.#door.apply(policy);
    } catch (error) {
      if (isAdmissionError(error) && error.code === 'DISPATCHER_CLOSED') void this.close();
      else this.#reject(asPolicyError(error));
      return;
    }
    if (this.#isRejected) this.#door.accepted();
    this.#isRejected = false;
  }

  #reject(error: PolicyError): void {
    this.#isRejected = true;
    this.#door.rejected(rejectionText(error));
  }
}

/** Whatever goes wrong must end here: there is nobody to catch it. */
function asPolicyError(error: unknown): PolicyError {
  if (isAdmissionError(error) && error.code === 'INVALID_POLICY') return error as PolicyError;
  const name = error instanceof Error ? error.name : typeof error;
  return new PolicyError([{ path: 'policy', message: `it could not be applied (${name})` }]);
}
