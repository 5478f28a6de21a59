import type { Dispatcher } from '../contract.ts';
import { gatedTool, isTool } from './langchain/tool.ts';
import { type CallHandler, gatedHandler } from './langchain/tool-calls.ts';
import { checkGateOptions, checkTools, type ToolGateOptions } from './support/tool-gate.ts';
import { checkRule, checkToolMap, mappedOf, readRule, type ToolMap, type ToolRule } from './support/tool-map.ts';

export type { CallHandler, ToolCallRequest } from './langchain/tool-calls.ts';
export type { OnRefused, Refusal } from './support/refusal.ts';
export { isRefusal } from './support/refusal.ts';
export type { ToolCallInfo, ToolGateOptions } from './support/tool-gate.ts';
export type { ToolContext, ToolMap, ToolRule } from './support/tool-map.ts';

/** Options of `gateTools` and `gateToolCalls`. */
export interface GateToolsOptions<Name extends string> extends ToolGateOptions {
  /** Every tool needs a rule by its name: its downstream, or `false`. */
  readonly downstreams: ToolMap<Name>;
}

/**
 * One tool behind one downstream: what `tool()` returns, or an instance of any `StructuredTool`. It stays of its class,
 * with its name and schema; `invoke`, `call`, agents and `ToolNode` pass the gate. Input is checked before the gate.
 *
 * A refusal is the tool's answer: `{ error: { code, downstream, retryable, retry_after_ms, message } }`, which reaches
 * the model as the JSON text of its `ToolMessage`. Deadline, run, class and account are read from `context` and
 * `configurable`; where neither names a run, `thread_id` is one. `signal` is honoured, and the tool gets one in its
 * config that fires at the deadline too.
 *
 * @throws {InvalidCall} where the downstream is unknown or an option cannot be read.
 * @example
 * const status = gateTool(dispatcher, 'carrier', tool(readStatus, { name: 'status', schema }));
 * await status.invoke({ id: 'T-1' }, { configurable: { deadline: Date.now() + 30_000, runId: 'run-7' } });
 */
export function gateTool<Name extends string, Tool extends object>(
  dispatcher: Dispatcher<Name>,
  downstream: Exclude<ToolRule<NoInfer<Name>>, false>,
  tool: Tool,
  options: ToolGateOptions = {},
): Tool {
  checkGateOptions('gateTool', dispatcher, options);
  checkRule(downstream, dispatcher.names(), 'gateTool');
  if (!isTool(tool)) return tool;
  const mapped = readRule(downstream as Exclude<ToolRule, false>);
  return gatedTool({ dispatcher: dispatcher as unknown as Dispatcher, mapped, tool: tool.name, options }, tool);
}

/**
 * Tools, each behind the lane that the map names for it; see `gateTool`. What cannot be invoked (tools of a provider,
 * which are plain descriptions) is passed on as it is and needs no rule.
 *
 * @throws {InvalidCall} with everything that is wrong with the map.
 * @example
 * const tools = gateTools(dispatcher, [search, status], { downstreams: { search: 'web', status: 'carrier' } });
 * const agent = createAgent({ model, tools });
 */
export function gateTools<Name extends string, const Tools extends readonly object[]>(
  dispatcher: Dispatcher<Name>,
  tools: Tools,
  options: GateToolsOptions<NoInfer<Name>>,
): { -readonly [index in keyof Tools]: Tools[index] } {
  const { downstreams, rest } = checked('gateTools', dispatcher, tools, options);
  const all = tools.map((tool) => {
    const mapped = isTool(tool) ? mappedOf(downstreams, tool.name) : undefined;
    if (mapped === undefined || !isTool(tool)) return tool;
    const gate = { dispatcher: dispatcher as unknown as Dispatcher, mapped, tool: tool.name, options: rest };
    return gatedTool(gate, tool);
  });
  return all as { -readonly [index in keyof Tools]: Tools[index] };
}

/**
 * The `wrapToolCall` of a middleware that gates all tools of an agent, whoever wraps them besides. `tools` are the
 * agent's, for the map to be checked; a call of a tool that it does not name is refused with `INVALID_CALL`. A tool
 * cannot be handed a signal this way: at its deadline its caller is told, and the tool runs to its end.
 *
 * @throws {InvalidCall} with everything that is wrong with the map.
 * @example
 * const gate = createMiddleware({ name: 'penstock', wrapToolCall: gateToolCalls(dispatcher, tools, { downstreams }) });
 * const agent = createAgent({ model, tools, middleware: [gate] });
 */
export function gateToolCalls<Name extends string>(
  dispatcher: Dispatcher<Name>,
  tools: readonly object[],
  options: GateToolsOptions<NoInfer<Name>>,
): CallHandler {
  const { downstreams, rest } = checked('gateToolCalls', dispatcher, tools, options);
  return gatedHandler(dispatcher as unknown as Dispatcher, downstreams, rest);
}

function checked<Name extends string>(
  where: string,
  dispatcher: Dispatcher<Name>,
  tools: readonly object[],
  options: GateToolsOptions<Name>,
): { downstreams: ToolMap; rest: ToolGateOptions } {
  checkTools(where, tools, 'a list');
  checkGateOptions(where, dispatcher, options, { downstreams: ['a map from tool to downstream', () => true] });
  const names = tools.filter(isTool).map(({ name }) => name);
  checkToolMap(options.downstreams, names, dispatcher.names(), where);
  const { downstreams, ...rest } = options;
  return { downstreams, rest };
}
