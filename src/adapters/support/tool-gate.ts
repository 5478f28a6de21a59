import { InvalidCall } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { show } from '../../base/text.ts';
import type { Dispatcher } from '../../contract.ts';
import type { Call, CallContext } from '../../dispatch/context.ts';
import { givenContext } from './given-context.ts';
import { type OnRefused, type Refusal, refusalOf } from './refusal.ts';
import type { RuntimeContext } from './runtime-context.ts';
import type { Mapped } from './tool-map.ts';

/** One call of a tool, as the `context` function of an adapter sees it. */
export interface ToolCallInfo {
  /** The tool's name, as far as it is known. */
  readonly tool: string | undefined;
  /** What the model gave the tool, parsed as far as the runtime has parsed it. */
  readonly input: unknown;
  /** The runtime's own context object, as the program gave it to the run. */
  readonly context: unknown;
  /** Everything else that the runtime hands to a tool. */
  readonly runtime: unknown;
}

/** What every adapter of a runtime takes. */
export interface ToolGateOptions {
  /** Default `return`: a refusal becomes the tool's answer, for the model to reason with. */
  readonly onRefused?: OnRefused | undefined;
  /**
   * A context for one call, for what the runtime's own context object does not hold. Its fields come before those of
   * the map, which come before those of the runtime's context; of deadlines the earliest counts, of signals any.
   */
  readonly context?: ((call: ToolCallInfo) => CallContext | undefined) | undefined;
}

/** One tool behind its gate. */
export interface ToolGate {
  readonly dispatcher: Dispatcher;
  readonly mapped: Mapped;
  readonly tool: string | undefined;
  readonly options: ToolGateOptions;
}

/** One call, with what an adapter has read of its runtime. */
export interface ToolCall extends Omit<ToolCallInfo, 'tool'> {
  readonly scope: RuntimeContext;
  readonly signal: AbortSignal | undefined;
}

/** How a gate lets one call through. */
export type Pass = <T>(fn: (call: Call) => T) => Promise<Awaited<T>>;

/**
 * Lets `run` make one call of a tool; what it rejects with becomes a `Refusal` where it is one and `onRefused` does
 * not say otherwise. Everything else, an abort above all, is rejected with as it is.
 */
export async function passGate<R>(
  gate: ToolGate,
  call: ToolCall,
  run: (pass: Pass) => R,
): Promise<Awaited<R> | Refusal> {
  const signals: (AbortSignal | undefined)[] = [call.signal];
  try {
    return await run(passOf(gate, call, signals));
  } catch (error) {
    return refuse(gate, error, signals);
  }
}

/** How a call of a tool goes through; `signals` gets those of its `context` function too. */
export function passOf(gate: ToolGate, call: ToolCall, signals: (AbortSignal | undefined)[]): Pass {
  const { dispatcher, mapped, options } = gate;
  const { tool } = gate;
  const given = givenFor(options, tool, call);
  signals.push(given?.signal);
  const scope = { ...call.scope, ...stated(mapped.context), tool, signal: call.signal };
  const { callDownstream } = given === undefined ? dispatcher : dispatcher.with(scope);
  return (fn) => callDownstream(mapped.downstream, fn, given ?? scope) as never;
}

/** The refusal that an error becomes; throws whatever is none, and everything where refusals are to be thrown. */
export function refuse(gate: ToolGate, error: unknown, signals: readonly (AbortSignal | undefined)[]): Refusal {
  // Whoever cancels with an error of ours (a gate further out does) still cancels: the run is to end, not to go on.
  const isAbort = signals.some((signal) => signal?.aborted === true && signal.reason === error);
  const refusal = isAbort || gate.options.onRefused === 'throw' ? undefined : refusalOf(error, gate.mapped.downstream);
  if (refusal === undefined) throw error;
  return refusal;
}

function givenFor(
  { context }: ToolGateOptions,
  tool: string | undefined,
  { input, context: own, runtime }: ToolCall,
): CallContext | undefined {
  return givenContext(context?.({ tool, input, context: own, runtime }), { tool });
}

function stated(context: object): object {
  return Object.fromEntries(Object.entries(context).filter(([, value]) => value !== undefined));
}

type Check = readonly [expected: string, fits: (value: unknown) => boolean];

const SHARED: Readonly<Record<string, Check>> = {
  onRefused: [`'return' or 'throw'`, (value) => value === 'return' || value === 'throw'],
  context: ['a function', (value) => typeof value === 'function'],
};

/**
 * Checks a dispatcher and the options of an adapter before anything is wrapped; `more` are those that it has besides
 * `onRefused` and `context`.
 *
 * @throws {InvalidCall} with every problem at once.
 */
export function checkGateOptions(
  where: string,
  dispatcher: unknown,
  options: unknown,
  more: Readonly<Record<string, Check>> = {},
): void {
  const checks = new Map(Object.entries({ ...SHARED, ...more }));
  const problems: string[] = [];
  if (!isDispatcher(dispatcher)) {
    problems.push(`dispatcher: expected what createDispatcher returns, found ${show(dispatcher)}`);
  }
  if (typeof options !== 'object' || options === null) {
    problems.push(`options: expected an object, found ${show(options)}`);
  } else {
    for (const [key, value] of Object.entries(options)) {
      const check = checks.get(key);
      if (check === undefined) problems.push(strangeOption(key, [...checks.keys()]));
      else if (value !== undefined && !check[1](value))
        problems.push(`${key}: expected ${check[0]}, found ${show(value)}`);
    }
  }
  if (problems.length > 0) throw new InvalidCall(`${where}: ${problems.join('; ')}`, { downstream: '' });
}

/** Checks what is to be wrapped: a list of tools, or an object that holds them by name. */
export function checkTools(where: string, tools: unknown, expected: 'a list' | 'an object'): void {
  const isFit =
    expected === 'a list' ? Array.isArray(tools) : typeof tools === 'object' && tools !== null && !Array.isArray(tools);
  if (isFit) return;
  throw new InvalidCall(`${where}: tools: expected ${expected} of tools, found ${show(tools)}`, { downstream: '' });
}

function strangeOption(key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  return `${key}: no such option; ${near === undefined ? `known are: ${known.join(', ')}` : `did you mean ${near}?`}`;
}

function isDispatcher(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { callDownstream, names } = value as Partial<Dispatcher>;
  return typeof callDownstream === 'function' && typeof names === 'function';
}
