import type { Call } from '../../dispatch/context.ts';
import { isAsyncIterable, leasedGenerator } from '../support/hold.ts';
import { isRefusal, type Refusal } from '../support/refusal.ts';
import { readRuntimeContext } from '../support/runtime-context.ts';
import {
  type Pass,
  passGate,
  passOf,
  refuse,
  type ToolCall,
  type ToolGate,
  type ToolGateOptions,
} from '../support/tool-gate.ts';

/** How long a tool that yields preliminary results keeps its lease: to its end, or to its first value. */
export type LeaseUntil = 'end' | 'first';

/** What `gateTool` and `gateTools` have in common. */
export interface AiToolOptions extends ToolGateOptions {
  /** For tools that yield preliminary results. Default `end`. */
  readonly leaseUntil?: LeaseUntil | undefined;
}

export const LEASE_UNTIL = {
  leaseUntil: [`'end' or 'first'`, (value: unknown) => value === 'end' || value === 'first'],
} as const;

/** A tool of the AI SDK that runs in this process, as far as a gate looks at it. */
export interface Executable {
  readonly execute: (input: unknown, options: unknown) => unknown;
  readonly toModelOutput?: ((...of: unknown[]) => unknown) | undefined;
}

/** What the AI SDK hands to `execute`: the context is `experimental_context` in versions 5 and 6, `context` in 7. */
interface ExecuteOptions {
  readonly abortSignal?: AbortSignal | undefined;
  readonly experimental_context?: unknown;
  readonly context?: unknown;
}

export interface AiToolGate extends ToolGate {
  readonly options: AiToolOptions;
}

/** Whether a tool runs in this process; one of the client's or the provider's does not. */
export function isExecutable(tool: unknown): tool is Executable {
  return typeof tool === 'object' && tool !== null && typeof (tool as Partial<Executable>).execute === 'function';
}

/** A copy, of the same prototype: the tool that was handed in may be used elsewhere without the gate. */
export function gatedTool(gate: AiToolGate, tool: Executable, streams: boolean): object {
  const execute = streams || isGenerator(tool.execute) ? streaming(gate, tool) : answering(gate, tool);
  const own = Object.getOwnPropertyDescriptors(tool) as PropertyDescriptorMap;
  const changed: PropertyDescriptorMap = { execute: plain(execute) };
  if (tool.toModelOutput !== undefined) changed.toModelOutput = plain(forModel(tool, tool.toModelOutput));
  return Object.create(Object.getPrototypeOf(tool), { ...own, ...changed });
}

function plain(value: unknown): PropertyDescriptor {
  return { value, enumerable: true, configurable: true, writable: true };
}

type Execute = (input: unknown, options: ExecuteOptions | undefined) => unknown;

function answering(gate: AiToolGate, tool: Executable): Execute {
  return (input, options) =>
    passGate(gate, callOf(input, options), (pass) =>
      pass((call) => {
        const answer = run(tool, call, input, options);
        return isAsyncIterable(answer) ? lastOf(answer) : answer;
      }),
    );
}

/** The SDK looks at what `execute` returns, not at what a promise of it resolves to: a stream has to be one at once. */
function streaming(gate: AiToolGate, tool: Executable): Execute {
  const hold = gate.options.leaseUntil === 'first' ? holdToFirst : leasedGenerator;
  return async function* gated(input, options) {
    const asked = callOf(input, options);
    const signals = [asked.signal];
    let refusal: Refusal;
    try {
      const pass = passOf(gate, asked, signals);
      return yield* hold(pass, async (call) => iterable(await run(tool, call, input, options)));
    } catch (error) {
      refusal = refuse(gate, error, signals);
    }
    yield refusal;
  };
}

async function* holdToFirst(pass: Pass, source: (call: Call) => Promise<AsyncIterable<unknown>>): AsyncGenerator {
  const held = await pass(async (call) => {
    const iterator = (await source(call))[Symbol.asyncIterator]();
    // Within an object, so that the lane does not take the tool's first value for the answer to the call.
    return { iterator, first: await iterator.next() };
  });
  const { iterator, first } = held;
  let isOver = first.done === true;
  try {
    if (!isOver) yield first.value;
    while (!isOver) {
      const next = await iterator.next();
      isOver = next.done === true;
      if (!isOver) yield next.value;
    }
  } catch (error) {
    isOver = true;
    throw error;
  } finally {
    if (!isOver) await iterator.return?.();
  }
}

/** Methods find their own tool in `this`, private fields included. The signal fires at the deadline too. */
function run(tool: Executable, call: Call, input: unknown, options: ExecuteOptions | undefined): unknown {
  return tool.execute(input, { ...options, abortSignal: call.signal });
}

function callOf(input: unknown, options: ExecuteOptions | undefined): ToolCall {
  const { abortSignal, experimental_context: context = options?.context } = options ?? {};
  return { input, context, scope: readRuntimeContext(context), runtime: options, signal: abortSignal };
}

/** A tool's own words for the model are made from its own answers: a refusal among them is none. */
function forModel(tool: Executable, toModelOutput: (...of: unknown[]) => unknown): (...of: unknown[]) => unknown {
  return (...of) => {
    const [first] = of;
    // Version 5 hands over the output itself, later ones an object that holds it.
    const output = isRefusal(first) ? first : (first as { readonly output?: unknown } | undefined)?.output;
    return isRefusal(output) ? { type: 'json', value: output } : toModelOutput.apply(tool, of);
  };
}

/** Also of one that is bound; of another realm too. */
function isGenerator(execute: object): boolean {
  return (execute as { readonly [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === 'AsyncGeneratorFunction';
}

/** What the SDK would have kept of a stream. */
async function lastOf(values: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const value of values) last = value;
  return last;
}

function iterable(answer: unknown): AsyncIterable<unknown> {
  return isAsyncIterable(answer) ? answer : one(answer);
}

async function* one(answer: unknown): AsyncGenerator {
  yield answer;
}
