import { InvalidCall } from '../base/errors.ts';
import { END, HEAR, HEARD, type HearingCall, type Inside } from '../base/inside.ts';
import type { Dispatcher } from '../contract.ts';
import type { CallContext } from '../dispatch/context.ts';
import { readContext } from './fetch/headers.ts';
import { type HttpOptions, type HttpSettings, readHttpOptions } from './fetch/options.ts';
import { checkUserAgent, createRouter, type Route, type Router, soundContext } from './fetch/router.ts';
import { givenContext } from './support/given-context.ts';
import { insideOf, routed } from './support/inside.ts';
import { endOf } from './support/stream.ts';
import { answered, coverCalls, follow, type Passed, permitFor } from './support/under-gate.ts';
import { between, type Handler, type Taps } from './undici/handler.ts';
import { readHeaders, type SentHeaders } from './undici/headers.ts';

export type { HttpOptions, LeaseUntil, UnknownHosts } from './fetch/options.ts';

/** What of undici's options of a request is read. */
export interface RequestOptions {
  readonly origin?: string | URL | undefined;
  readonly path?: string | undefined;
  readonly method?: string | undefined;
  readonly headers?: unknown;
}

export interface GateOptions extends HttpOptions {
  /** The downstream of a request; `false`: it passes no gate; undefined: by the `hosts` of the policy. */
  readonly lookup?: ((url: URL, request: RequestOptions) => string | false | undefined) | undefined;
  /** What is to be known of a call; what the headers of the request say wins. */
  readonly context?: ((url: URL, request: RequestOptions) => CallContext | undefined) | undefined;
}

/** What `compose` of undici's `Agent`, `Pool` and `Client` takes. */
export type Interceptor = <Dispatch extends (options: never, handler: never) => boolean>(
  dispatch: Dispatch,
) => Dispatch;

const WHERE = 'gate';

/**
 * An interceptor for undici (6 and 7) whose requests pass the gate: each to the downstream whose `hosts` match, each
 * attempt and each hop of a redirect with a permit of its own. With `setGlobalDispatcher` it stands below Node's own
 * `fetch` too. A refusal is the error of the request; `fetch` has it as the `cause` of its `TypeError`. Since a request
 * is sent later than it is made, `dispatch` returns true: back-pressure between requests is the lane's.
 *
 * @throws {InvalidCall} for a bad option, and where two downstreams claim one host.
 * @example
 * setGlobalDispatcher(new Agent().compose(gate(dispatcher)));
 */
export function gate<Name extends string>(dispatcher: Dispatcher<Name>, options: GateOptions = {}): Interceptor {
  const inside = insideOf(dispatcher, WHERE);
  const settings = readHttpOptions(options, WHERE, ['lookup', 'context']);
  const lanes = dispatcher as unknown as Dispatcher;
  const { lookup, context } = options;
  const parts: Parts = {
    lanes,
    inside,
    settings,
    router: createRouter(lanes, inside, settings, WHERE),
    lookup,
    context,
  };
  coverCalls(inside, ({ downstream, account }, answer) => lanes.with({ account }).report(downstream, answer));
  const intercept = (dispatch: Dispatch): Dispatch => {
    // undici counts the parameters.
    return (request, handler) => {
      send(parts, dispatch, request, handler);
      return true;
    };
  };
  return intercept as unknown as Interceptor;
}

type Dispatch = (request: RequestOptions, handler: Handler) => boolean;

interface Parts {
  readonly lanes: Dispatcher;
  readonly inside: Inside;
  readonly settings: HttpSettings;
  readonly router: Router;
  readonly lookup: GateOptions['lookup'];
  readonly context: GateOptions['context'];
}

function send(parts: Parts, dispatch: Dispatch, request: RequestOptions, handler: Handler): void {
  const { lanes, inside, settings } = parts;
  const abort = new AbortController();
  const attempt = new Attempt(parts, handler, abort);
  try {
    const url = urlOf(request);
    const headers = readHeaders(request.headers, settings.userAgent);
    const sent = headers.sent === request.headers ? request : { ...request, headers: headers.sent };
    const said = parts.lookup?.(url, request);
    const route = parts.router(url, said);
    if (route === undefined) {
      routed(inside, said, () => dispatch(sent, handler));
      return;
    }
    checkUserAgent(lanes, inside, route, headers.isNamed, WHERE);
    const go = (): boolean => routed(inside, said, () => dispatch(sent, attempt.handler));
    const start = (call: HearingCall): Promise<unknown> => attempt.run(call, route, go);
    const permit = permitFor(inside, route);
    if (permit !== undefined && permit.left > 0) {
      attempt.passOn(permit, go);
      return;
    }
    attempt.begin();
    const ctx = contextOf(parts, route, url, request, headers, abort.signal);
    // Under a permit that is spent it takes the place of the call that it belongs to: that waits for it.
    const running =
      permit === undefined
        ? lanes.callDownstream(route.downstream, (call) => start(call as HearingCall), ctx)
        : follow(permit, abort.signal, () => start(FOLLOWER));
    running.catch(attempt.fail);
  } catch (error) {
    attempt.fail(error);
  }
}

/** Until when its call counts as running is for whoever has made that to say. */
const FOLLOWER: HearingCall = { [HEAR]: () => false };

function contextOf(
  { lanes, inside, context }: Parts,
  route: Route,
  url: URL,
  request: RequestOptions,
  { ours }: SentHeaders,
  signal: AbortSignal,
): CallContext {
  return soundContext(lanes, route, signal, () => [
    givenContext(context?.(url, request), route),
    readContext(ours, route.downstream, inside.clock.wallNow()),
  ]);
}

function urlOf({ origin, path = '/', method }: RequestOptions): URL {
  const base = String(origin);
  if (origin === undefined || !URL.canParse(base)) {
    const message = `${WHERE}: refused, a request without an origin names no host. Compose it into an Agent, or name the origin in the request.`;
    throw new InvalidCall(message, { downstream: '' });
  }
  return method !== 'CONNECT' && URL.canParse(path, base) ? new URL(path, base) : new URL(base);
}

/** One request on its way: before its permit, under it, and after. */
class Attempt {
  readonly handler: Handler;
  readonly begin: () => void;
  readonly fail: (reason: unknown) => void;
  readonly #parts: Parts;
  #answered: Taps['answered'] = () => undefined;
  #ended: () => void = () => undefined;
  #failed: (error: unknown) => void = () => undefined;
  /** A part of the body has come since somebody looked, or could come. */
  #isRead = true;
  #hasMoved = false;

  constructor(parts: Parts, handler: Handler, abort: AbortController) {
    this.#parts = parts;
    const middle = between(handler, {
      aborted: (reason) => {
        abort.abort(reason);
        // Without a lane's wait to end, the request itself is all there is.
        middle.fail(reason);
      },
      answered: (answer, isWhole) => this.#answered(answer, isWhole),
      moved: (isWanted) => {
        this.#isRead = isWanted;
        this.#hasMoved = true;
      },
      ended: () => this.#ended(),
      failed: (error) => this.#failed(error),
    });
    this.handler = middle.handler;
    this.begin = middle.begin;
    this.fail = middle.fail;
  }

  /** Sends it; resolves with its answer, or at the end of its body. */
  run(call: HearingCall, { downstream }: Route, dispatch: () => void): Promise<unknown> {
    const { lanes, settings } = this.#parts;
    // At once: whoever is told of an answer may ask again before any promise of ours has settled.
    const over = (outcome: unknown): void => call[END]?.(outcome);
    return new Promise((resolve, reject) => {
      const ended = new Promise<void>((end, fail) => {
        this.#ended = () => {
          over(HEARD);
          end();
        };
        this.#failed = (error) => {
          over(error);
          fail(error);
          reject(error);
        };
      });
      ended.catch(() => undefined);
      this.#answered = (answer, isWhole) => {
        const isHeld = settings.untilBody && !isWhole && call[HEAR]?.(answer) !== false;
        const isRead = (): boolean => this.#look();
        if (!isHeld) over(answer);
        resolve(isHeld ? endOf(lanes, downstream, { ended, isRead }, settings.unreadAfterMs) : answer);
      };
      dispatch();
    });
  }

  /** Sends it under a permit that somebody above has taken for it. */
  passOn(permit: Passed, dispatch: () => void): void {
    permit.left--;
    this.#answered = (answer) => answered(permit, answer);
    dispatch();
  }

  #look(): boolean {
    const isRead = this.#isRead || this.#hasMoved;
    this.#hasMoved = false;
    return isRead;
  }
}
