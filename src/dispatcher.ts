import { checkFunction, readModeOptions } from './arguments.ts';
import { DURATION_FORM, parseDuration } from './base/duration.ts';
import { InvalidCall, isAdmissionError } from './base/errors.ts';
import { INSIDE, type Inside, OWN_RUN } from './base/inside.ts';
import { show } from './base/text.ts';
import { MODES } from './base/words.ts';
import { closeAll } from './closing.ts';
import { Composition } from './composition.ts';
import type { ClosingReport, Dispatcher, DispatcherOptions } from './contract.ts';
import type { Fn } from './dispatch/admission.ts';
import type { Call, CallContext, Lease } from './dispatch/context.ts';
import { type Forecast, type ForecastAsk, forecast } from './dispatch/forecast.ts';
import type { Lane } from './dispatch/lane.ts';
import { pass } from './dispatch/passing.ts';
import { readRequest } from './dispatch/request.ts';
import { mergeContexts, NO_SCOPE, type Scope, scopeWithin } from './dispatch/scope.ts';
import { openDoor } from './door.ts';
import { POLICY_DOOR, type PolicyDoor } from './policy/door.ts';
import type { DownstreamPolicyInput, PolicyInput } from './policy/input.ts';

export type { CancelAsk, ClosingReport, Dispatcher, DispatcherOptions } from './contract.ts';

const LONGEST_PAUSE_MS = 366 * 86_400_000;

/** The names of a policy's downstreams, as far as the compiler knows them. */
export type NamesOf<P extends PolicyInput> = keyof P['downstreams'] & string;

/**
 * Makes a dispatcher: one lane per downstream of the policy. Nothing is global; two dispatchers know
 * nothing of each other.
 *
 * @throws {PolicyError} with every problem of the policy at once.
 * @example
 * const { callDownstream } = createDispatcher({ downstreams: { carrier: { quota: '60/minute' } } });
 * const status = await callDownstream('carrier', ({ signal }) => fetch(url, { signal }));
 */
export function createDispatcher<const P extends PolicyInput>(
  policy: P,
  options: DispatcherOptions = {},
): Dispatcher<NamesOf<P>> {
  return new Face(new Composition(policy, options), NO_SCOPE) as unknown as Dispatcher<NamesOf<P>>;
}

/** One dispatcher as its user sees it, with a context of its own (`with`); all faces share one composition. */
class Face implements Dispatcher {
  readonly #composition: Composition;
  readonly #scope: Scope;

  constructor(composition: Composition, scope: Scope) {
    this.#composition = composition;
    this.#scope = scope;
  }

  readonly callDownstream = (downstream: string, fn: (call: Call) => unknown, ctx?: CallContext): Promise<never> => {
    try {
      return this.#call(downstream, fn, ctx, true) as Promise<never>;
    } catch (error) {
      return this.#turnedAway(error);
    }
  };

  readonly acquire = (downstream: string, ctx?: CallContext): Promise<Lease> => {
    try {
      return this.#call(downstream, undefined, ctx, false) as Promise<Lease>;
    } catch (error) {
      return this.#turnedAway(error);
    }
  };

  readonly report = (
    downstream: string,
    outcome: unknown,
    when?: { readonly startedAt?: number | undefined },
  ): void => {
    const found = this.#composition.find(downstream);
    const account = this.#scope.context?.account;
    const lane = account === undefined ? found.lane : found.laneOf(account);
    const startedAt = when?.startedAt;
    if (startedAt !== undefined && !Number.isFinite(startedAt)) {
      throw invalid(downstream, 'startedAt', startedAt, 'epoch milliseconds');
    }
    lane.report(found.ports.judgeSeen(outcome), startedAt);
  };

  readonly forecast = (downstream: string, ask?: ForecastAsk): Forecast => {
    const lane = this.#composition.find(downstream).peek(this.#scope.context?.account).books;
    const { calls = 1, ...context } = ask ?? {};
    if (!Number.isSafeInteger(calls) || calls < 1)
      throw invalid(downstream, 'calls', calls, 'a whole number, 1 or more');
    const { clock } = this.#composition;
    const now = clock.now();
    const merged = mergeContexts(this.#scope.context, context) ?? {};
    const request = readRequest(lane.gate.plan, merged, [], now, clock.wallNow());
    return forecast(lane, request, calls, now);
  };

  readonly with = (ctx: CallContext): Dispatcher => {
    if (!isContext(ctx)) throw invalid('with', 'ctx', ctx, 'an object');
    return new Face(this.#composition, scopeWithin(this.#scope, ctx));
  };

  readonly wrap = <A extends unknown[], T>(
    downstream: string,
    fn: (...args: A) => T,
    ctxOf?: (...args: A) => CallContext,
  ): ((...args: A) => Promise<Awaited<T>>) => {
    checkFunction(fn, downstream);
    const { callDownstream } = this;
    return async function (this: unknown, ...args) {
      return callDownstream(downstream, () => fn.apply(this, args), ctxOf?.apply(this, args));
    };
  };

  readonly names = (): string[] => [...this.#composition.downstreams.keys()];

  readonly require = (names: Iterable<string>): void => this.#composition.require(names);

  readonly register = (name: string, policy: DownstreamPolicyInput): Dispatcher => {
    this.#composition.register(name, policy);
    return this;
  };

  readonly unregister = (name: string): void => this.#composition.unregister(name);

  readonly apply: Dispatcher['apply'] = (policy) => this.#composition.apply(policy);

  readonly cancel: Dispatcher['cancel'] = (which, reason) => this.#composition.cancel(which, reason);

  readonly pause = (
    downstream: string,
    options: { readonly for: number | string; readonly reason?: string | undefined },
  ): void => {
    const found = this.#composition.find(downstream);
    const ms = parseDuration(options?.for);
    if (ms === undefined || ms > LONGEST_PAUSE_MS) {
      throw invalid(
        downstream,
        'for',
        typeof options === 'object' ? options?.for : options,
        `${DURATION_FORM}; 366 days at most`,
      );
    }
    found.pause(ms, options.reason);
  };

  readonly resume = (downstream: string, options?: { readonly all?: boolean | undefined }): void => {
    const all = options?.all === true;
    this.#composition.find(downstream).resume(all);
    if (all) this.#composition.desk.resumed(downstream);
  };

  readonly setMode: Dispatcher['setMode'] = (mode, options) => {
    const only = readModeOptions(options);
    if (mode !== 'policy' && !MODES.includes(mode)) {
      throw invalid(only ?? 'setMode', 'mode', mode, `one of ${MODES.join(', ')}, policy`);
    }
    this.#composition.setMode(mode, only);
  };

  readonly snapshot = (): ReturnType<Composition['snapshot']> => this.#composition.snapshot();

  readonly subscribe: Dispatcher['subscribe'] = (listener) => this.#composition.bus.subscribe(listener);

  readonly flush = (): Promise<void> => this.#composition.desk.flush();

  readonly close: Dispatcher['close'] = (options) => {
    const { within } = options ?? {};
    if (within !== undefined && parseDuration(within) === undefined) {
      return Promise.reject(invalid('close', 'within', within, DURATION_FORM));
    }
    const composition = this.#composition;
    if (composition.closing !== undefined) return composition.closing;
    let begin!: (report: Promise<ClosingReport>) => void;
    // Known before it begins: a listener that closes when it hears of a refusal gets the same one.
    composition.closing = new Promise((resolve) => {
      begin = resolve;
    });
    begin(closeAll(composition, options ?? {}));
    return composition.closing;
  };

  readonly [INSIDE] = (): Inside => this.#composition.inside;

  readonly [OWN_RUN] = (): string | undefined => this.#scope.context?.runId;

  readonly [POLICY_DOOR] = (): PolicyDoor => openDoor(this.#composition);

  readonly [Symbol.asyncDispose] = async (): Promise<void> => {
    await this.close();
  };

  #turnedAway(error: unknown): Promise<never> {
    if (isAdmissionError(error)) this.#composition.turnedAway(error);
    return Promise.reject(error);
  }

  #call(name: string, fn: Fn, ctx: CallContext | undefined, needsFn: boolean): Promise<unknown> {
    const scope = this.#scope;
    const downstream = this.#composition.find(name);
    const own = ctx ?? undefined;
    const problem = own === undefined || isContext(own) ? undefined : invalid(name, 'ctx', own, 'an object');
    if (downstream.mode !== 'enforce') {
      if (needsFn) checkFunction(fn, name);
      return pass(downstream, fn, problem === undefined ? own : undefined, scope, problem);
    }
    if (problem !== undefined) throw problem;
    const context = scope.context === undefined ? own : mergeContexts(scope.context, own);
    // What is wrong with a call that nobody wants any more does not matter.
    if (context?.signal?.aborted === true) return downstream.lane.call(fn, context, scope.signals);
    if (needsFn) checkFunction(fn, name);
    const account = context?.account;
    const lane: Lane = account === undefined ? downstream.lane : downstream.laneOf(account);
    return lane.call(fn, context, scope.signals);
  }
}

/** Anything that fields can be read from; a list or a Map is a mistake. */
function isContext(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Map);
}

function invalid(downstream: string, field: string, found: unknown, expected: string): InvalidCall {
  return new InvalidCall(`${downstream}: ${field}: expected ${expected}, found ${show(found)}`, {
    downstream,
  });
}
