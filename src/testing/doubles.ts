import { type Clock, createSystemClock } from '../base/clock.ts';
import type { AdmissionError } from '../base/errors.ts';
import type { Dispatcher } from '../contract.ts';
import type { Call, CallContext } from '../dispatch/context.ts';
import { mergeContexts } from '../dispatch/scope.ts';
import { createDispatcher } from '../dispatcher.ts';
import type { PolicyInput } from '../policy/input.ts';
import { type RefusalCode, type RefusalFacts, refusalOf } from './refusal.ts';

/** One call that was made through a double. */
export interface DoubleCall {
  readonly downstream: string;
  /** As it was given, the contexts of `with` merged in. */
  readonly ctx: CallContext;
}

/** A dispatcher for tests of code that uses one. */
export interface DispatcherDouble<Name extends string = string> extends Dispatcher<Name> {
  /** Every `callDownstream`, `acquire` and call of a wrapped function, in order, those made through `with` included. */
  readonly calls: readonly DoubleCall[];
}

export interface DoubleOptions {
  /** By which deadlines are judged. Default: the machine's. */
  readonly clock?: Clock | undefined;
}

/**
 * A dispatcher that knows every name, never makes a call wait and records what it was asked for.
 * All else is as in the real one: signals, deadlines that have passed, outcomes, events.
 *
 * @example
 * const dispatcher = openDispatcher();
 * await deliveryStatus(dispatcher.callDownstream, 'T-1');
 * expect(dispatcher.calls).toMatchObject([{ downstream: 'carrier', ctx: { tool: 'get_delivery_status' } }]);
 */
export function openDispatcher<Name extends string = string>(options: DoubleOptions = {}): DispatcherDouble<Name> {
  return doubled(openReal(options), { calls: [], outer: undefined }) as unknown as DispatcherDouble<Name>;
}

/**
 * A dispatcher that knows every name and refuses every call with the error of that code, so that a
 * test sees what your code does then. `fn` never runs. Facts such as `retryAfterMs` go into the error.
 *
 * @example
 * const { callDownstream } = refusingDispatcher('RATE_LIMITED', { retryAfterMs: 60_000 });
 * expect(await deliveryStatus(callDownstream, 'T-1')).toEqual({ status: 'unknown', askAgainInMs: 60_000 });
 */
export function refusingDispatcher<Name extends string = string>(
  code: RefusalCode,
  options: RefusalFacts & DoubleOptions = {},
): DispatcherDouble<Name> {
  const { clock = createSystemClock(), ...facts } = options;
  const refuse = (call: DoubleCall): AdmissionError => refusalOf(code, call, facts, clock.wallNow());
  const open = doubled(openReal({ clock }), { calls: [], outer: undefined, refuse });
  return open as unknown as DispatcherDouble<Name>;
}

function openReal({ clock }: DoubleOptions): Dispatcher {
  return createDispatcher<PolicyInput>({ downstreams: {} }, { clock, alertSinks: [], env: {} });
}

interface Doubling {
  readonly calls: DoubleCall[];
  readonly outer: CallContext | undefined;
  readonly refuse?: (call: DoubleCall) => AdmissionError;
}

/** The real dispatcher, with every name it is asked for registered as unlimited just in time. */
function doubled(real: Dispatcher, doubling: Doubling): DispatcherDouble {
  const { calls, outer, refuse } = doubling;
  const know = (downstream: string): string => {
    if (typeof downstream !== 'string' || real.names().includes(downstream)) return downstream;
    try {
      real.register(downstream, { unlimited: true });
    } catch {
      // A bad name, or any once it is closed: left to the real one, which says what is wrong.
    }
    return downstream;
  };
  const note = (downstream: string, ctx: CallContext | undefined): AdmissionError | undefined => {
    const call = { downstream: know(downstream), ctx: mergeContexts(outer, ctx ?? undefined) ?? {} };
    calls.push(call);
    return refuse?.(call);
  };
  // Async: whatever is wrong with a call, it never throws synchronously.
  const gated = async (downstream: string, ctx: CallContext | undefined, run: () => unknown): Promise<never> => {
    const refusal = note(downstream, ctx);
    if (refusal !== undefined) throw refusal;
    return run() as never;
  };
  const callDownstream = (downstream: string, fn: (call: Call) => unknown, ctx?: CallContext): Promise<never> =>
    gated(downstream, ctx, () => real.callDownstream(downstream, fn, ctx));
  const self: DispatcherDouble = {
    ...real,
    calls,
    callDownstream,
    acquire: (downstream, ctx) => gated(downstream, ctx, () => real.acquire(downstream, ctx)),
    wrap: (downstream, fn, ctxOf) =>
      async function (this: unknown, ...args) {
        return callDownstream(downstream, () => fn.apply(this, args), ctxOf?.apply(this, args));
      },
    with: (ctx) => doubled(real.with(ctx), { ...doubling, outer: mergeContexts(outer, ctx) }),
    require: (names) => real.require(Array.from(names, know)),
    register: (name, policy) => {
      real.register(name, policy);
      return self as never;
    },
    report: (downstream, outcome, when) => real.report(know(downstream), outcome, when),
    forecast: (downstream, ask) => real.forecast(know(downstream), ask),
    pause: (downstream, options) => real.pause(know(downstream), options),
    resume: (downstream, options) => real.resume(know(downstream), options),
  };
  return self;
}
