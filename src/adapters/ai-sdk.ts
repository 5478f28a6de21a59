import type { Dispatcher } from '../contract.ts';
import { type AiToolOptions, gatedTool, isExecutable, LEASE_UNTIL } from './ai-sdk/tool.ts';
import { checkGateOptions, checkTools } from './support/tool-gate.ts';
import { checkRule, checkToolMap, mappedOf, readRule, type ToolMap, type ToolRule } from './support/tool-map.ts';

export type { AiToolOptions, LeaseUntil } from './ai-sdk/tool.ts';
export type { OnRefused, Refusal } from './support/refusal.ts';
export { isRefusal } from './support/refusal.ts';
export type { ToolCallInfo, ToolGateOptions } from './support/tool-gate.ts';
export type { ToolContext, ToolMap, ToolRule } from './support/tool-map.ts';

/** Options of `gateTool`. */
export interface GateToolOptions extends AiToolOptions {
  /** The tool's name in traces and alerts; a tool of the AI SDK does not know its own. */
  readonly tool?: string | undefined;
  /** `true` for an `execute` that returns an AsyncIterable without being an `async function*`. */
  readonly streams?: boolean | undefined;
}

/** Options of `gateTools`. */
export interface GateToolsOptions<Name extends string, Tool extends string> extends AiToolOptions {
  /** Every tool that has an `execute` needs a rule: its downstream, or `false`. */
  readonly downstreams: ToolMap<Name, Tool>;
  /** Names of tools whose `execute` returns an AsyncIterable without being an `async function*`. */
  readonly streams?: readonly Tool[] | undefined;
}

/**
 * The same tools, each behind the lane that the map names for it; what has no `execute` (client-side tools, tools of a
 * provider) is passed on as it is and needs no rule. Types are kept.
 *
 * A refusal is the tool's answer: `{ error: { code, downstream, retryable, retry_after_ms, message } }`. Deadline, run,
 * class and account are read from `experimental_context`; `abortSignal` is honoured, and the tool gets one that fires
 * at the deadline too.
 *
 * @throws {InvalidCall} with everything that is wrong with the map.
 * @example
 * const tools = gateTools(dispatcher, { search, status }, { downstreams: { search: 'web', status: 'carrier' } });
 * await generateText({ model, tools, prompt, experimental_context: { deadline: Date.now() + 30_000, runId: 'run-7' } });
 */
export function gateTools<Name extends string, Tools extends object>(
  dispatcher: Dispatcher<Name>,
  tools: Tools,
  options: GateToolsOptions<NoInfer<Name>, keyof Tools & string>,
): Tools {
  const where = 'gateTools';
  checkTools(where, tools, 'an object');
  const withExecute = Object.keys(tools).filter((name) => isExecutable((tools as Record<string, unknown>)[name]));
  const isTools = (list: unknown) => Array.isArray(list) && list.every((name) => withExecute.includes(name));
  const streaming = ['a list of names of tools that have an execute', isTools] as const;
  const map = ['a map from tool to downstream', () => true] as const;
  checkGateOptions(where, dispatcher, options, { ...LEASE_UNTIL, downstreams: map, streams: streaming });
  checkToolMap(options.downstreams, withExecute, dispatcher.names(), where);
  const { downstreams, streams = [], ...rest } = options;
  const gated = Object.entries(tools).map(([name, tool]) => {
    const mapped = mappedOf(downstreams as ToolMap, name);
    if (mapped === undefined || !isExecutable(tool)) return [name, tool];
    const gate = { dispatcher: dispatcher as unknown as Dispatcher, mapped, tool: name, options: rest };
    return [name, gatedTool(gate, tool, (streams as readonly string[]).includes(name))];
  });
  return Object.fromEntries(gated) as Tools;
}

/**
 * One tool behind one downstream; see `gateTools`. A tool without `execute` is returned as it is.
 *
 * @throws {InvalidCall} where the downstream is unknown or an option cannot be read.
 * @example
 * const status = gateTool(dispatcher, 'carrier', tool({ inputSchema, execute }), { tool: 'status' });
 */
export function gateTool<Name extends string, Tool extends object>(
  dispatcher: Dispatcher<Name>,
  downstream: Exclude<ToolRule<NoInfer<Name>>, false>,
  tool: Tool,
  options: GateToolOptions = {},
): Tool {
  checkGateOptions('gateTool', dispatcher, options, {
    ...LEASE_UNTIL,
    tool: ['a text', (value) => typeof value === 'string'],
    streams: ['true or false', (value) => typeof value === 'boolean'],
  });
  checkRule(downstream, dispatcher.names(), 'gateTool');
  if (!isExecutable(tool)) return tool;
  const { tool: name, streams = false, ...rest } = options;
  const mapped = readRule(downstream as Exclude<ToolRule, false>);
  const gate = { dispatcher: dispatcher as unknown as Dispatcher, mapped, tool: name, options: rest };
  return gatedTool(gate, tool, streams) as Tool;
}
