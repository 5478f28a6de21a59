import { InvalidCall } from '../base/errors.ts';
import type { Inside } from '../base/inside.ts';
import { show } from '../base/text.ts';
import type { Dispatcher } from '../contract.ts';
import type { Call, CallContext } from '../dispatch/context.ts';
import { readContext } from './fetch/headers.ts';
import { type HttpOptions, type HttpSettings, readHttpOptions } from './fetch/options.ts';
import { type Asked, type GatedInit, readAsked } from './fetch/request.ts';
import { checkUserAgent, createRouter, type Route, type Router, soundContext } from './fetch/router.ts';
import { givenContext } from './support/given-context.ts';
import { insideOf, routed } from './support/inside.ts';
import { holdToEnd } from './support/stream.ts';
import { answered, coverCalls, follow, type Passed, permitFor, underGate } from './support/under-gate.ts';

export type { HttpOptions, LeaseUntil, UnknownHosts } from './fetch/options.ts';
export type { GatedInit } from './fetch/request.ts';

/** A `fetch` that passes the gate; it can stand wherever one is asked for. */
export type GatedFetch = typeof globalThis.fetch &
  ((input: string | URL | Request, init?: GatedInit) => Promise<Response>);

export interface FetchOptions extends HttpOptions {
  /** The downstream of a request; `false`: it passes no gate; undefined: by the `hosts` of the policy. */
  readonly lookup?: ((url: URL, init: GatedInit | undefined) => string | false | undefined) | undefined;
  /** What is to be known of a call; what the request itself says wins. */
  readonly context?: ((url: URL, init: GatedInit | undefined) => CallContext | undefined) | undefined;
  /** Sends requests that have their permit. Default: the `fetch` of the platform as it is now. */
  readonly base?: ((input: string | URL | Request, init?: RequestInit) => Promise<Response>) | undefined;
}

const WHERE = 'createFetch';

type Start = (call: Call) => Promise<Response>;

/**
 * A `fetch` whose requests pass the gate: each to the downstream whose `hosts` match, each attempt with a permit of
 * its own. What a caller says of a call stands in `init.penstock`, or in headers that are not sent:
 * `x-penstock-deadline`, `-priority`, `-cost`, `-tool`, `-run-id`, `-account`. The request's signal is honoured while it
 * waits. Responses come back as they are, a 429 included; a refusal rejects with the `AdmissionError`.
 *
 * @throws {InvalidCall} for a bad option, and where two downstreams claim one host.
 * @example
 * const openai = new OpenAI({ fetch: createFetch(dispatcher) });
 */
export function createFetch<Name extends string>(dispatcher: Dispatcher<Name>, options: FetchOptions = {}): GatedFetch {
  const inside = insideOf(dispatcher, WHERE);
  const settings = readHttpOptions(options, WHERE, ['lookup', 'context', 'base']);
  const gate = dispatcher as unknown as Dispatcher;
  const { base = globalThis.fetch, lookup, context } = options;
  const parts: Parts = {
    gate,
    inside,
    settings,
    router: createRouter(gate, inside, settings, WHERE),
    base,
    lookup,
    context,
  };
  coverCalls(inside, ({ downstream, account }, answer) => gate.with({ account }).report(downstream, answer));
  const gated = async (input: string | URL | Request, init?: GatedInit): Promise<Response> => send(parts, input, init);
  return gated as GatedFetch;
}

interface Parts {
  readonly gate: Dispatcher;
  readonly inside: Inside;
  readonly settings: HttpSettings;
  readonly router: Router;
  readonly base: NonNullable<FetchOptions['base']>;
  readonly lookup: FetchOptions['lookup'];
  readonly context: FetchOptions['context'];
}

function send(parts: Parts, input: string | URL | Request, init: GatedInit | undefined): Promise<Response> {
  const { gate, inside, settings, router, base, lookup } = parts;
  const asked = readAsked(input, init, settings.userAgent);
  const { url } = asked;
  const said = url === undefined ? undefined : lookup?.(url, init);
  const route = url === undefined ? undefined : router(url, said);
  if (url === undefined || route === undefined) {
    return routed(inside, said, () => base(input, asked.initWith(undefined)));
  }
  checkUserAgent(gate, inside, route, asked.hasUserAgent, WHERE);
  const { downstream } = route;
  const ctx = contextOf(parts, route, url, asked, init);
  const report = (answer: unknown): void => gate.with({ account: ctx.account }).report(downstream, answer);
  const start: Start = async (call) => {
    const sent = asked.initWith(signalOf(call, asked.signal));
    return underGate({ inside, lane: route, call, report }, async () => routed(inside, said, () => base(input, sent)));
  };
  const permit = permitFor(inside, route);
  if (permit !== undefined) return under(permit, start, asked.signal);
  if (!settings.untilBody) return gate.callDownstream(downstream, start, ctx);
  return holdToEnd(gate, downstream, start, ctx, { unreadAfterMs: settings.unreadAfterMs });
}

/** A gated fetch further up has the permit for this one, or had it for the one before. */
async function under(permit: Passed, start: Start, signal: AbortSignal | undefined): Promise<Response> {
  if (permit.left === 0) return follow(permit, signal, () => start(permit.call));
  permit.left--;
  const answer = await start(permit.call);
  answered(permit, answer);
  return answer;
}

function contextOf(parts: Parts, route: Route, url: URL, asked: Asked, init: GatedInit | undefined): CallContext {
  const { gate, inside, context } = parts;
  const { downstream } = route;
  return soundContext(gate, route, asked.signal, () => {
    const own = init?.penstock;
    if (own !== undefined && (typeof own !== 'object' || own === null)) {
      throw new InvalidCall(`${downstream}: init.penstock: expected an object, found ${show(own)}`, { downstream });
    }
    return [
      givenContext(context?.(url, init), { downstream }),
      readContext(asked.ours, downstream, inside.clock.wallNow()),
      own,
    ];
  });
}

/**
 * What ends the request: its own signal for as long as its body is read, and the call's as long as that runs.
 */
function signalOf(call: Call, own: AbortSignal | undefined): AbortSignal {
  const { signal } = call;
  return own === undefined || own === signal ? signal : AbortSignal.any([own, signal]);
}
