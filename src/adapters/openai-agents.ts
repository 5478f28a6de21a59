import { InvalidCall } from '../base/errors.ts';
import { show } from '../base/text.ts';
import type { Dispatcher } from '../contract.ts';
import type { Call } from '../dispatch/context.ts';
import { mergeContexts } from '../dispatch/scope.ts';
import { insideOf } from './support/inside.ts';
import { readRuntimeContext } from './support/runtime-context.ts';
import {
  checkGateOptions,
  checkTools,
  passGate,
  type ToolCall,
  type ToolGate,
  type ToolGateOptions,
} from './support/tool-gate.ts';
import { checkMapped, checkToolMap, mappedOf, type ToolMap, toolsOf } from './support/tool-map.ts';

export type { OnRefused, Refusal } from './support/refusal.ts';
export { isRefusal } from './support/refusal.ts';
export type { ToolCallInfo, ToolGateOptions } from './support/tool-gate.ts';
export type { ToolContext, ToolMap, ToolRule } from './support/tool-map.ts';

/** Options of `gateToolFunction` and `gateTools`. */
export interface GateToolsOptions<Name extends string> extends ToolGateOptions {
  /** Every function tool needs a rule by its name: its downstream, or `false`. */
  readonly downstreams: ToolMap<Name>;
}

/** What the runtime hands to a tool besides its input. */
interface Details {
  readonly signal?: AbortSignal | undefined;
}

/**
 * The runtime's `tool`, of the same type, whose tools pass the lane that the map names for them. This is the right
 * place for a gate: it is around `execute`, and so the lane learns of a 429 that a finished tool would keep to itself.
 * A tool is looked up in the map when it is made.
 *
 * A refusal is the tool's answer: `{ error: { code, downstream, retryable, retry_after_ms, message } }`, which the
 * runtime gives to the model as JSON text. Deadline, run, class and account are read from the object that `run` was
 * given as `context`; `details.signal` is honoured, and the tool gets one that fires at the deadline too. A tool with a
 * Zod `outputSchema` can return nothing else: there a refusal is thrown.
 *
 * @throws {InvalidCall} with everything that is wrong with the map; the `tool` that it returns throws one for a tool
 *   without a rule.
 * @example
 * const tool = gateToolFunction(dispatcher, plainTool, { downstreams: { search: 'web', status: 'carrier' } });
 * const status = tool({ name: 'status', description, parameters, execute });
 * await run(agent, 'Where is T-1?', { context: { deadline: Date.now() + 30_000, runId: 'run-7' } });
 */
export function gateToolFunction<Name extends string, Make extends (options: never) => unknown>(
  dispatcher: Dispatcher<Name>,
  tool: Make,
  options: GateToolsOptions<NoInfer<Name>>,
): Make {
  const where = 'gateToolFunction';
  checkGateOptions(where, dispatcher, options, DOWNSTREAMS);
  if (typeof tool !== 'function')
    throw new InvalidCall(`${where}: tool: expected a function, found ${show(tool)}`, { downstream: '' });
  checkToolMap(options.downstreams, toolsOf(options.downstreams), dispatcher.names(), where);
  const { downstreams, ...rest } = options;
  const make = tool as unknown as (options: ToolSource) => { readonly name: string };
  const gatedMake = (source: ToolSource) => {
    let run: Run = source.execute;
    const execute: Run = (...of) => run.apply(source, of);
    const made = make({ ...source, name: source.name ?? source.execute.name, execute });
    checkMapped(downstreams, made.name, where);
    const mapped = mappedOf(downstreams, made.name);
    // A refusal that the tool's own schema forbids would end the run as an invalid output, its reason lost.
    const options: ToolGateOptions = isValidated(source) ? { ...rest, onRefused: 'throw' } : rest;
    const gate = { dispatcher: dispatcher as unknown as Dispatcher, tool: made.name, options };
    if (mapped !== undefined) run = gated({ ...gate, mapped }, source);
    return made;
  };
  return gatedMake as unknown as Make;
}

/** How long the runtime lets a tool take, the wait included; it has checked that it is a time. */
interface Timed {
  readonly timeoutMs?: number | undefined;
}

/** What `tool()` takes, as far as a gate looks at it. */
interface ToolSource extends Timed {
  readonly name?: string | undefined;
  readonly execute: Run;
  readonly outputSchema?: unknown;
}

/** Zod's schemas are checked when the tool has answered, JSON Schemas are for the model alone. */
function isValidated({ outputSchema }: ToolSource): boolean {
  return typeof (outputSchema as { readonly parse?: unknown } | undefined)?.parse === 'function';
}

const DOWNSTREAMS = { downstreams: ['a map from tool to downstream', () => true] } as const;

/**
 * Tools of an agent, each function tool behind the lane that the map names for it; hosted tools (web search, computer
 * use) run elsewhere, are passed on as they are and need no rule.
 *
 * A finished tool keeps its errors to itself: the runtime's `errorFunction` turns them into a text before a gate sees
 * them. Deadlines, waiting, pauses and aborts are as with `gateToolFunction`; that the downstream itself has said 429
 * is seen only of tools that were made by `gateToolFunction` or have `errorFunction: null`; of others where the map
 * says `false` and their own requests pass a gated `fetch`. A `needsApproval` function is asked about the input as the
 * model wrote it: the runtime knows the schema of a finished tool by its `invoke`, which is another one here.
 *
 * @throws {InvalidCall} with everything that is wrong with the map.
 * @example
 * const agent = new Agent({ name: 'clerk', tools: gateTools(dispatcher, [search, status], {
 *   downstreams: { search: 'web', status: 'carrier' },
 * }) });
 */
export function gateTools<Name extends string, const Tools extends readonly object[]>(
  dispatcher: Dispatcher<Name>,
  tools: Tools,
  options: GateToolsOptions<NoInfer<Name>>,
): { -readonly [index in keyof Tools]: Tools[index] } {
  const where = 'gateTools';
  checkTools(where, tools, 'a list');
  checkGateOptions(where, dispatcher, options, DOWNSTREAMS);
  const names = tools.filter(isFunctionTool).map(({ name }) => name);
  checkToolMap(options.downstreams, names, dispatcher.names(), where);
  const { downstreams, ...rest } = options;
  const all = tools.map((tool) => {
    const mapped = isFunctionTool(tool) ? mappedOf(downstreams, tool.name) : undefined;
    if (mapped === undefined || !isFunctionTool(tool)) return tool;
    const gate = { dispatcher: dispatcher as unknown as Dispatcher, mapped, tool: tool.name, options: rest };
    return copied(tool, { invoke: finished(gate, tool) });
  });
  return all as { -readonly [index in keyof Tools]: Tools[index] };
}

interface FunctionTool extends Timed {
  readonly type: 'function';
  readonly name: string;
  readonly invoke: Invoke;
}

type Invoke = (context: unknown, input: string, details?: Details) => unknown;
type Run = (input: unknown, context: unknown, details?: Details) => unknown;

function isFunctionTool(tool: unknown): tool is FunctionTool {
  if (typeof tool !== 'object' || tool === null) return false;
  const { type, invoke } = tool as Partial<FunctionTool>;
  return type === 'function' && typeof invoke === 'function';
}

function gated(gate: ToolGate, source: ToolSource): Run {
  const untilOf = timeoutOf(gate, source);
  return (input, context, details) =>
    passGate(gate, callOf(input, context, details, untilOf()), (pass) =>
      pass((call) => source.execute(input, context, within(details, call))),
    );
}

function finished(gate: ToolGate, tool: FunctionTool): Invoke {
  const untilOf = timeoutOf(gate, tool);
  return (context, input, details) =>
    passGate(gate, callOf(parsed(input), context, details, untilOf()), (pass) =>
      pass((call) => tool.invoke(context, input, within(details, call))),
    );
}

/** A wall clock counts whole milliseconds. So much later than the runtime, which has words of its own for a tool that runs too long. */
const AFTER_TIMEOUT_MS = 2;

/** When the runtime will give up a call that begins now: one that cannot start until then is refused at once. */
function timeoutOf({ dispatcher }: ToolGate, { timeoutMs }: Timed): () => number | undefined {
  if (timeoutMs === undefined) return () => undefined;
  const { clock } = insideOf(dispatcher, 'timeoutMs');
  return () => clock.wallNow() + timeoutMs + AFTER_TIMEOUT_MS;
}

/** The runtime keeps notes of its own under symbols of `details`; they are carried along. */
function within(details: Details | undefined, call: Call): Details {
  return copied(details ?? {}, { signal: call.signal });
}

function copied<T extends object>(value: T, changes: object): T {
  const own = Object.getOwnPropertyDescriptors(value);
  return Object.create(Object.getPrototypeOf(value), { ...own, ...Object.getOwnPropertyDescriptors(changes) });
}

function callOf(
  input: unknown,
  runContext: unknown,
  details: Details | undefined,
  timeoutAt: number | undefined,
): ToolCall {
  const { context } = (runContext ?? {}) as { readonly context?: unknown };
  const said = readRuntimeContext(context);
  const scope = timeoutAt === undefined ? said : { ...said, ...mergeContexts(said, { deadline: timeoutAt }) };
  return { input, context, scope, runtime: details, signal: details?.signal };
}

/** The model's own text, where it is no JSON: the tool is to say so. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}
