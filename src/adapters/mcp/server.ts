import type { Dispatcher } from '../../contract.ts';
import { checkDispatcher, checkMethod, checkOptions, type Routes, readRoutes } from './options.ts';
import { overlay } from './overlay.ts';
import { isRefusedResult } from './result.ts';
import { type Callback, gatedCallback } from './tool.ts';
import type { GateServerOptions, ToolServer } from './types.ts';

const WHERE = 'gateServer';
const KNOWN = ['downstream', 'downstreams', 'onRefused', 'context', 'progress'];

/** What `registerTool` returns. */
interface Registered {
  update?: (updates: { readonly name?: string | null; readonly callback?: Callback }) => void;
}

interface Gating {
  readonly dispatcher: Dispatcher;
  readonly routes: Routes;
  readonly options: GateServerOptions;
}

/**
 * Puts a gate before every tool of an MCP server that is registered with the server that is returned, by
 * `registerTool` or the older `tool`: each callback is wrapped as by `gateTool`. The server that was given is not
 * changed, and tools that are registered with it pass no gate.
 *
 * A tool for which the map has no downstream is an error when it is registered; unknown downstreams are one at once.
 *
 * @throws {InvalidCall} for bad options, and for every problem of the map at once. @throws {UnknownDownstream}
 * @example
 * const server = gateServer(dispatcher, new McpServer(info), { downstreams: { find: 'carrier', ping: false } });
 * server.registerTool('find', { inputSchema: { id: z.string() } }, findDelivery);
 */
export function gateServer<Name extends string, S extends ToolServer>(
  dispatcher: Dispatcher<Name>,
  server: S,
  options: GateServerOptions,
): S {
  checkDispatcher(dispatcher, WHERE);
  checkMethod(server, 'registerTool', 'server', WHERE);
  checkOptions(options, KNOWN, WHERE);
  const plain = dispatcher as unknown as Dispatcher;
  const gating = { dispatcher: plain, routes: readRoutes(plain, options, WHERE), options };
  gating.routes.check([]);
  const own: Record<string, unknown> = {};
  for (const method of ['registerTool', 'tool']) {
    const register = (server as unknown as Record<string, unknown>)[method];
    if (typeof register === 'function') own[method] = registering(register as Callback, server, gating);
  }
  const { experimental } = server as unknown as { readonly experimental?: { readonly tasks?: TaskServer } };
  if (typeof experimental?.tasks?.registerToolTask === 'function') {
    own.experimental = overlay(experimental, { tasks: gatedTasks(experimental.tasks, gating) });
  }
  return overlay(server, own);
}

/** What registers tools that answer with a task. */
interface TaskServer {
  readonly registerToolTask?: (name: string, config: unknown, handler: TaskHandler) => unknown;
}

interface TaskHandler {
  readonly createTask: Callback;
}

/** The start of a task passes the gate; what is asked of it afterwards does not. */
function gatedTasks(tasks: TaskServer, gating: Gating): TaskServer {
  const registerToolTask: TaskServer['registerToolTask'] = (name, config, handler) => {
    const gated = gatedFor({ name }, (...args) => handler.createTask(...args), gating);
    const createTask: Callback = async (...args) => {
      const created = await gated(...args);
      // A refusal is no task. Of what is thrown here the SDK makes a result with the message as its text.
      if (isRefusedResult(created)) throw new Error(created.content[0]?.text);
      return created;
    };
    return tasks.registerToolTask?.(name, config, overlay(handler, { createTask }));
  };
  return overlay(tasks, { registerToolTask });
}

/** A method that registers a tool: the name is its first argument, the callback its last. */
function registering(register: Callback, server: ToolServer, gating: Gating): Callback {
  return (...args) => {
    const callback = args.at(-1);
    if (typeof args[0] !== 'string' || typeof callback !== 'function') return register.apply(server, args);
    const tool = { name: args[0] };
    const registered = register.apply(server, [...args.slice(0, -1), gatedFor(tool, callback as Callback, gating)]);
    keepGated(registered as Registered, tool, gating);
    return registered;
  };
}

function gatedFor(
  tool: { readonly name: string },
  callback: Callback,
  { dispatcher, routes, options }: Gating,
): Callback {
  const to = routes.of(tool.name);
  if (to === undefined) return callback;
  const { onRefused, context, progress } = options;
  return gatedCallback(dispatcher, to, callback, () => ({ onRefused, context, progress, tool: tool.name }));
}

/** A callback that replaces another passes the gate as that did, under the tool's new name if it has one. */
function keepGated(registered: Registered, tool: { name: string }, gating: Gating): void {
  const update = registered?.update;
  if (typeof update !== 'function') return;
  registered.update = (updates) => {
    const name = typeof updates.name === 'string' ? updates.name : tool.name;
    const { callback } = updates;
    const renamed = { name };
    const more = callback === undefined ? {} : { callback: gatedFor(renamed, callback, gating) };
    update.call(registered, { ...updates, ...more });
    tool.name = name;
  };
}
