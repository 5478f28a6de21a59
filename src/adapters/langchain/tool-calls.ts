import { InvalidCall } from '../../base/errors.ts';
import { show } from '../../base/text.ts';
import type { Dispatcher } from '../../contract.ts';
import { isRefusal, refusalOf } from '../support/refusal.ts';
import { passGate, type ToolGateOptions } from '../support/tool-gate.ts';
import { isMapped, mappedOf, type ToolMap } from '../support/tool-map.ts';
import { scopeOf, type ToolConfig } from './tool.ts';

/** What a middleware is told of a call. */
export interface ToolCallRequest {
  readonly toolCall: { readonly name: string; readonly args: unknown };
  readonly tool?: unknown;
  readonly runtime?: unknown;
}

/** The `wrapToolCall` of a middleware. */
export type CallHandler = <Request extends ToolCallRequest, Answer>(
  request: Request,
  handler: (request: Request) => Answer | Promise<Answer>,
) => Promise<Answer>;

/** Gates each call by the map; a tool that it does not name is refused, for there is to be no way around the gate. */
export function gatedHandler(dispatcher: Dispatcher, map: ToolMap, options: ToolGateOptions): CallHandler {
  return async (request, handler) => {
    const { name, args } = request.toolCall;
    const mapped = mappedOf(map, name);
    if (mapped === undefined && isMapped(map, name)) return handler(request);
    const runtime = (request.runtime ?? {}) as ToolConfig;
    const { signal, context = runtime.configurable } = runtime;
    const call = { input: args, context, scope: scopeOf(runtime), runtime, signal };
    const answer =
      mapped === undefined
        ? unmapped(name, options)
        : await passGate({ dispatcher, mapped, tool: name, options }, call, (pass) => pass(() => handler(request)));
    if (!isRefusal(answer)) return answer as never;
    // The agent itself makes the message of what a tool returns: a stand-in that returns the refusal gives one of its own class.
    return handler({ ...request, tool: { name, invoke: async () => answer } });
  };
}

function unmapped(tool: string, { onRefused }: ToolGateOptions): unknown {
  const error = new InvalidCall(`${show(tool)}: no downstream is written for this tool, so it was not called.`, {
    downstream: '',
    tool,
  });
  if (onRefused === 'throw') throw error;
  return refusalOf(error, '');
}
