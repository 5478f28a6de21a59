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
  #deeds: Deed[] | undefined;
  /** Nested calls that have ended and whose ghosts have not started. */
  #open = 0;
  #isAwaited = false;
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
    this.#known();
    this.#flush();
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
    this.#deeds = undefined;
    this.#known();
  }

  /** The call has ended. */
  ended(at: number): void {
    const { outer } = this;
    if (outer !== undefined) outer.#endedWithin(this);
    if (this.#host.hasPlaces && !this.isGone) this.when(at, () => this.#leave?.());
  }

  /** Does what happened at an instant of the call when it would have happened: never, if it never would have started. */
  when(at: number, act: () => void): void {
    if (this.isGone) return;
    if (this.shiftMs === undefined || this.#open > 0) (this.#deeds ??= []).push({ at, act });
    else this.#do(at + this.shiftMs, act);
  }

  #do(due: number, act: () => void): void {
    const { clock } = this.#host;
    const leftMs = due - clock.now();
    if (leftMs <= DUE_MS) act();
    else clock.setTimer(leftMs, () => void (this.#host.isOver || act()), { keepAlive: false });
  }

  /** What comes after a nested call comes as much later as that has ended later. */
  #endedWithin(nested: Ghost): void {
    if (nested.shiftMs === undefined && !nested.isGone) {
      nested.#isAwaited = true;
      this.#open++;
    } else this.#delay(nested);
  }

  #delay(nested: Ghost): void {
    if (this.shiftMs !== undefined) this.shiftMs = Math.max(this.shiftMs, nested.shiftMs ?? 0);
  }

  /** Whether and when it starts is known now. */
  #known(): void {
    const { outer } = this;
    if (outer === undefined || !this.#isAwaited) return;
    this.#isAwaited = false;
    outer.#open--;
    outer.#delay(this);
    outer.#flush();
  }

  #flush(): void {
    const deeds = this.#deeds;
    if (deeds === undefined || this.#open > 0) return;
    this.#deeds = undefined;
    for (const { at, act } of deeds) this.when(at, act);
  }
}
