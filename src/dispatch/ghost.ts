import { type Clock, DUE_MS } from '../base/clock.ts';
import type { AdmissionError, ErrorCode } from '../base/errors.ts';
import { isAdmissionError } from '../base/errors.ts';
import type { ActiveCall } from './active.ts';
import type { Call } from './context.ts';
import type { Request } from './request.ts';

/** What a ghost asks of the books it is in. */
export interface GhostHost {
  readonly clock: Clock;
  /** Places are counted: a ghost keeps its own for as long as the call ran. */
  readonly hasPlaces: boolean;
  readonly isOver: boolean;
  /** The ghost gets in line, one microtask before it could start. */
  readonly admit: (ghost: Ghost) => void;
  readonly wouldStart: (ghost: Ghost, waitedMs: number, expectedMs?: number) => void;
  readonly wouldRefuse: (
    ghost: Ghost,
    error: Pick<AdmissionError, 'code' | 'waitedMs'> & Partial<AdmissionError>,
  ) => void;
  /** It has left the line, whatever for. */
  readonly left: () => void;
}

/** Something that happened to the real call, to be done in the books when it would have happened there. */
interface Deed {
  readonly at: number;
  readonly act: () => void;
}

/**
 * Stands in the books for a call that has started at once: it waits, starts and ends as the call itself
 * would have, had it waited. What happens to the call while it runs happens to its ghost as much later as it
 * starts later. Instants are monotonic milliseconds.
 */
export class Ghost {
  readonly request: Request;
  readonly outer: Ghost | undefined;
  /** The call's id, once it has one: until then nothing is told. */
  id: number | undefined;
  /** What the call had waited before it was observed. */
  readonly waitedBeforeMs: number;
  /** How much later than the call its ghost is now; undefined as long as it has not started. */
  shiftMs: number | undefined;
  /** Its call in the books. */
  call: ActiveCall | undefined;
  /** It is not in the books, and never will be. */
  isGone = false;
  readonly #host: GhostHost;
  readonly #madeAt: number;
  #startedAt: number | undefined;
  #leave: (() => void) | undefined;
  /** What has happened and is to be followed, in order: deeds, and nested calls that have ended. */
  #course: (Deed | Ghost)[] | undefined;
  #hasEnded = false;
  #untold: (() => void) | undefined;

  constructor(host: GhostHost, request: Request, madeAt: number, waitedBeforeMs = 0, outer?: Ghost) {
    this.#host = host;
    this.request = request;
    this.#madeAt = madeAt;
    this.waitedBeforeMs = waitedBeforeMs;
    this.outer = outer;
  }

  /** Gets in line: a nested one when the call around it would have made it. */
  enter(): void {
    const { outer } = this;
    if (outer === undefined) this.#host.admit(this);
    else outer.when(this.#madeAt, () => this.#host.admit(this));
  }

  /** The call itself runs. */
  began(call: ActiveCall): void {
    this.id = call.id;
    this.#startedAt = call.startedAt;
    const untold = this.#untold;
    this.#untold = undefined;
    untold?.();
  }

  /** Tells what is known, once the call has its id. */
  tell(news: () => void): void {
    if (this.id === undefined) this.#untold = news;
    else news();
  }

  /** What stands for `fn` in the books. */
  readonly starts = (begun: Call): unknown => {
    const call = begun as ActiveCall;
    this.#host.left();
    this.call = call;
    this.shiftMs = Math.max(0, call.startedAt - (this.#startedAt ?? call.startedAt));
    const stays = this.#host.hasPlaces ? new Promise<void>((resolve) => (this.#leave = resolve)) : undefined;
    this.tell(() => this.#host.wouldStart(this, call.waitedMs + this.waitedBeforeMs));
    this.follow();
    return stays;
  };

  /** It will not start: refused, or the caller has left while it waited. */
  readonly fails = (error: unknown): void => {
    if (this.call !== undefined || this.isGone) return;
    this.#host.left();
    if (isAdmissionError(error)) this.tell(() => this.#host.wouldRefuse(this, error));
    this.drop();
  };

  /** The call was refused for what the books do not know of. */
  refuse(code: ErrorCode): void {
    this.tell(() => this.#host.wouldRefuse(this, { code, waitedMs: 0 }));
    this.drop();
  }

  /** It is in the books no more; what is nested in it would never have been made. */
  drop(): void {
    this.isGone = true;
    this.#course = undefined;
    this.outer?.follow();
  }

  /** The call has ended. */
  ended(at: number): void {
    const { outer } = this;
    if (outer !== undefined && !outer.isGone) (outer.#course ??= []).push(this);
    if (!this.isGone && (this.#host.hasPlaces || outer !== undefined)) this.when(at, () => this.#ends());
    outer?.follow();
  }

  /** Does what happened at an instant of the call when it would have happened: never, if it never would have started. */
  when(at: number, act: () => void): void {
    if (this.isGone) return;
    (this.#course ??= []).push({ at, act });
    this.follow();
  }

  #ends(): void {
    this.#leave?.();
    this.#hasEnded = true;
    this.outer?.follow();
  }

  /** Goes on along its course: what comes after the end of a nested call comes as much later as that has ended later. */
  follow(): void {
    const course = this.#course;
    if (course === undefined || this.shiftMs === undefined) return;
    for (let next = course[0]; next !== undefined; next = course[0]) {
      if (next instanceof Ghost) {
        if (!next.isGone && !next.#hasEnded) return;
        this.shiftMs = Math.max(this.shiftMs, next.shiftMs ?? 0);
        course.shift();
      } else {
        course.shift();
        this.#do(next.at + this.shiftMs, next.act);
      }
    }
  }

  #do(due: number, act: () => void): void {
    const { clock } = this.#host;
    const leftMs = due - clock.now();
    if (leftMs <= DUE_MS) act();
    else clock.setTimer(leftMs, () => void (this.#host.isOver || act()), { keepAlive: false });
  }
}
