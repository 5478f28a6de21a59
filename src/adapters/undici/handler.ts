import { answerHeaders } from './headers.ts';

type Method = (...args: unknown[]) => unknown;

/** A handler of undici, of either kind: with `onRequestStart` (7), or with `onConnect` (6 and the one in Node 20). */
export type Handler = Readonly<Record<string, Method | undefined>>;

/** What of undici's controller is used. */
interface Controller {
  readonly aborted?: boolean;
  readonly paused?: boolean;
  readonly reason?: unknown;
  readonly rawHeaders?: unknown;
  readonly rawTrailers?: unknown;
  readonly abort: (reason?: unknown) => void;
  readonly pause?: () => void;
  readonly resume?: () => void;
}

/** Who is told of what happens to a request. */
export interface Taps {
  /** The caller wants it no more. */
  readonly aborted: (reason: unknown) => void;
  /** `isWhole`: nothing follows that would be a body. */
  readonly answered: (answer: { status: number; headers: Record<string, string> }, isWhole: boolean) => void;
  /** A part of the body has come; false where no more is wanted for now. */
  readonly moved: (isWanted: boolean) => void;
  readonly ended: () => void;
  readonly failed: (error: unknown) => void;
}

/** A handler between undici and the one that was given. */
export interface Between {
  /** For undici. */
  readonly handler: Handler;
  /** Gives the caller its means to abort, before there is a request. */
  readonly begin: () => void;
  /** Ends the request with an error, whether it is under way or not. */
  readonly fail: (reason: unknown) => void;
}

/** What undici may ask of a handler besides; handed on where it is there. */
const OTHERS = ['onBodySent', 'onRequestSent', 'onResponseStarted'];

export function between(handler: Handler, taps: Taps): Between {
  return typeof handler.onRequestStart === 'function' ? betweenNew(handler, taps) : betweenOld(handler, taps);
}

/** What ends a request: at once where it has not begun, else through undici, which then tells the handler. */
class End {
  readonly #deliver: (error: unknown) => void;
  #abort: ((reason?: unknown) => void) | undefined;
  /** Delivered: what comes from undici after that reaches nobody. */
  over: { readonly reason: unknown } | undefined;

  constructor(deliver: (error: unknown) => void) {
    this.#deliver = deliver;
  }

  /** undici has begun; false where it is too late for that. */
  began(abort: (reason?: unknown) => void): boolean {
    if (this.over === undefined) {
      this.#abort = abort;
      return true;
    }
    abort(this.over.reason);
    return false;
  }

  readonly fail = (reason: unknown): void => {
    if (this.over !== undefined) return;
    if (this.#abort !== undefined) {
      this.#abort(reason);
      return;
    }
    this.over = { reason };
    this.#deliver(reason);
  };
}

/** One controller for the whole of a request: handlers keep the first that they are given. */
class OneController implements Controller {
  /** undici's own, once it has begun. */
  inner: Controller | undefined;
  /** A field, since interceptors put their own in its place. */
  abort: (reason?: unknown) => void;
  #aborted: { readonly reason: unknown } | undefined;

  constructor(tell: (reason: unknown) => void) {
    this.abort = (reason) => {
      this.#aborted ??= { reason: reason ?? aborted() };
      tell(this.#aborted.reason);
    };
  }

  pause(): void {
    this.inner?.pause?.();
  }

  resume(): void {
    this.inner?.resume?.();
  }

  get aborted(): boolean {
    return this.inner?.aborted ?? this.#aborted !== undefined;
  }

  get paused(): boolean {
    return this.inner?.paused ?? false;
  }

  get reason(): unknown {
    return this.inner?.reason ?? this.#aborted?.reason ?? null;
  }

  get rawHeaders(): unknown {
    return this.inner?.rawHeaders;
  }

  get rawTrailers(): unknown {
    return this.inner?.rawTrailers;
  }
}

function betweenNew(handler: Handler, taps: Taps): Between {
  const controller = new OneController(taps.aborted);
  const end = new End((error) => handler.onResponseError?.(controller, error));
  const call = (name: string, ...args: unknown[]): unknown => handler[name]?.(controller, ...args);
  const unlessOver =
    (then: Method): Method =>
    (...args) =>
      end.over === undefined ? then(...args) : undefined;
  return {
    handler: {
      ...others(handler),
      onRequestStart: (started, context) => {
        controller.inner = started as Controller;
        if (end.began((reason) => (started as Controller).abort(reason))) call('onRequestStart', context);
      },
      onRequestUpgrade: unlessOver((_, status, headers, socket) => {
        taps.answered(answerOf(status, headers), true);
        return call('onRequestUpgrade', status, headers, socket);
      }),
      onResponseStart: unlessOver((_, status, headers, message) => {
        if ((status as number) >= 200) taps.answered(answerOf(status, headers), false);
        return call('onResponseStart', status, headers, message);
      }),
      onResponseData: unlessOver((_, chunk) => {
        call('onResponseData', chunk);
        taps.moved(!controller.paused);
      }),
      onResponseEnd: unlessOver((_, trailers) => {
        taps.ended();
        return call('onResponseEnd', trailers);
      }),
      onResponseError: unlessOver((_, error) => {
        taps.failed(error);
        return call('onResponseError', error);
      }),
    },
    begin: () => void call('onRequestStart', {}),
    fail: end.fail,
  };
}

function betweenOld(handler: Handler, taps: Taps): Between {
  const abort = (reason: unknown): void => taps.aborted(reason ?? aborted());
  const end = new End((error) => handler.onError?.(error));
  const unlessOver =
    (then: Method): Method =>
    (...args) =>
      end.over === undefined ? then(...args) : false;
  const on = {
    onUpgrade: (status, raw, socket) => {
      taps.answered(answerOf(status, raw), true);
      return handler.onUpgrade?.(status, raw, socket);
    },
    onHeaders: (status, raw, resume, message) => {
      if ((status as number) >= 200) taps.answered(answerOf(status, raw), false);
      return handler.onHeaders?.(status, raw, resume, message);
    },
    onData: (chunk) => {
      const isWanted = handler.onData?.(chunk);
      taps.moved(isWanted !== false);
      return isWanted;
    },
    onComplete: (trailers) => {
      taps.ended();
      return handler.onComplete?.(trailers);
    },
    onError: (error) => {
      taps.failed(error);
      return handler.onError?.(error);
    },
  } satisfies Record<string, Method>;
  // undici asks which methods there are: a handler without `onUpgrade` is for requests that do not upgrade.
  const there = Object.entries(on).filter(([name]) => typeof handler[name] === 'function');
  return {
    handler: {
      ...others(handler),
      ...Object.fromEntries(there.map(([name, method]) => [name, unlessOver(method)])),
      onConnect: (started, context) => {
        if (end.began(started as (reason?: unknown) => void)) handler.onConnect?.(abort, context);
      },
    },
    begin: () => void handler.onConnect?.(abort, null),
    fail: end.fail,
  };
}

function others(handler: Handler): Record<string, Method> {
  const there = OTHERS.filter((name) => typeof handler[name] === 'function');
  return Object.fromEntries(there.map((name) => [name, (...args: unknown[]) => handler[name]?.(...args)]));
}

function answerOf(status: unknown, headers: unknown): { status: number; headers: Record<string, string> } {
  return { status: status as number, headers: answerHeaders(headers) };
}

/** What undici itself says to who aborts without a reason. */
function aborted(): Error {
  return Object.assign(new Error('Request aborted'), { name: 'AbortError', code: 'UND_ERR_ABORTED' });
}
