import type { Dispatcher } from '../../contract.ts';
import { type CallParams, ClientGate, type RequestOptions } from './client-gate.ts';
import { checkDispatcher, checkMethod, checkOptions, invalid, readRoutes } from './options.ts';
import { overlay } from './overlay.ts';
import type { GateClientOptions, ToolClient } from './types.ts';
import { type Closing, watchClose } from './watch-close.ts';

const WHERE = 'gateClient';
const KNOWN = ['downstream', 'downstreams', 'onRefused', 'context', 'progress', 'tellServer'];
const TOOLS_CALL = 'tools/call';

/** More tools than any server has, even one to a page. */
const MOST_PAGES = 1_000;

/** What is used of a client beside `callTool`; a client that lacks one of them goes without. */
interface Client extends Closing {
  readonly callTool: (params: CallParams, schema: unknown, options: RequestOptions | undefined) => Promise<unknown>;
  readonly request?: (
    request: { readonly method: string; readonly params?: unknown },
    schema: unknown,
    options: RequestOptions | undefined,
  ) => Promise<unknown>;
  readonly listTools?: (params?: { readonly cursor?: string }, options?: unknown) => Promise<ToolPage>;
  readonly close?: () => Promise<void>;
  readonly experimental?: { readonly tasks?: TaskClient };
}

interface ToolPage {
  readonly tools: readonly { readonly name: string }[];
  readonly nextCursor?: string | undefined;
}

interface TaskClient {
  readonly callToolStream?: (
    params: CallParams,
    schema: unknown,
    options: RequestOptions | undefined,
  ) => AsyncIterable<unknown>;
  readonly requestStream?: (
    request: { readonly method: string; readonly params?: unknown },
    schema: unknown,
    options: RequestOptions | undefined,
  ) => AsyncIterable<unknown>;
}

/**
 * Puts a gate before the tools of an MCP server: the client that is returned makes every call of a tool through a
 * lane, and is the client that was given in all else. That one is not changed.
 *
 * The request's timeout is the whole time that its caller is willing to wait: a call that cannot start within it is
 * refused at once, and what is left of it goes to the request. A refusal, and a 429 of the transport, is returned as
 * a result that the model can reason with; `onRefused: 'throw'` throws it. An abort rejects with the signal's reason.
 *
 * With `downstream` all tools share a lane. With `downstreams`, a map by tool, the server is asked for its tools
 * (so the client must be connected), the map is checked against them, and a promise of the client is returned.
 *
 * @throws {InvalidCall} for bad options and for every problem of the map at once; with a map, as a rejection.
 * @throws {UnknownDownstream}
 * @example
 * const notes = gateClient(dispatcher, client, { downstream: 'notes' });
 * const result = await notes.callTool({ name: 'search', arguments: { query: 'tides' } });
 */
export function gateClient<Name extends string, C extends ToolClient>(
  dispatcher: Dispatcher<Name>,
  client: C,
  options: GateClientOptions & { readonly downstream: NoInfer<Name>; readonly downstreams?: undefined },
): C;
export function gateClient<Name extends string, C extends ToolClient>(
  dispatcher: Dispatcher<Name>,
  client: C,
  options: GateClientOptions & { readonly downstreams: object; readonly downstream?: undefined },
): Promise<C>;
export function gateClient(dispatcher: Dispatcher, client: ToolClient, options: GateClientOptions): unknown {
  if (options?.downstreams === undefined) return gated(dispatcher, client, options).client;
  return listed(dispatcher, client, options);
}

async function listed(dispatcher: Dispatcher, client: ToolClient, options: GateClientOptions): Promise<unknown> {
  const { client: wrapped, check } = gated(dispatcher, client, options);
  checkMethod(client, 'listTools', 'client', WHERE);
  check(await toolsOf(client as unknown as Client), true);
  return wrapped;
}

function gated(dispatcher: Dispatcher, given: ToolClient, options: GateClientOptions) {
  checkDispatcher(dispatcher, WHERE);
  checkMethod(given, 'callTool', 'client', WHERE);
  checkOptions(options, KNOWN, WHERE);
  const routes = readRoutes(dispatcher, options, WHERE);
  const client = given as unknown as Client;
  const gate = new ClientGate(dispatcher, routes, options, (closed) =>
    typeof client.request === 'function' ? watchClose(client, closed) : () => undefined,
  );
  const { request, listTools, close } = client;
  const own: Record<string, unknown> = {
    callTool: (params: CallParams, schema?: unknown, requestOptions?: RequestOptions) =>
      gate.call(params, requestOptions, (sent, left) => client.callTool(sent, schema, left)),
  };
  // The ways around: a request of the same method, and the stream of it.
  if (typeof request === 'function') {
    own.request = (asked: { method: string; params?: unknown }, schema: unknown, requestOptions?: RequestOptions) =>
      asked?.method === TOOLS_CALL
        ? gate.call(asked.params as CallParams, requestOptions, (params, left) =>
            request.call(client, { ...asked, params }, schema, left),
          )
        : request.call(client, asked, schema, requestOptions);
  }
  if (options.downstreams !== undefined && typeof listTools === 'function') {
    own.listTools = async (...args: Parameters<typeof listTools>) => {
      const page = await listTools.apply(client, args);
      routes.check(page.tools.map(({ name }) => name));
      return page;
    };
  }
  if (typeof close === 'function') {
    own.close = () => {
      gate.closed();
      return close.call(client);
    };
  }
  const tasks = client.experimental?.tasks;
  if (tasks !== undefined)
    own.experimental = overlay(client.experimental as object, { tasks: gatedTasks(gate, tasks) });
  return { client: overlay(given as object, own), check: routes.check };
}

function gatedTasks(gate: ClientGate, tasks: TaskClient): TaskClient {
  const { callToolStream, requestStream } = tasks;
  const own: Record<string, unknown> = {};
  if (callToolStream !== undefined) {
    own.callToolStream = (params: CallParams, schema: unknown, options?: RequestOptions) =>
      gate.stream(params, options, (sent, left) => callToolStream.call(tasks, sent, schema, left));
  }
  if (requestStream !== undefined) {
    own.requestStream = (asked: { method: string; params?: unknown }, schema: unknown, options?: RequestOptions) =>
      asked?.method === TOOLS_CALL
        ? gate.stream(asked.params as CallParams, options, (params, left) =>
            requestStream.call(tasks, { ...asked, params }, schema, left),
          )
        : requestStream.call(tasks, asked, schema, options);
  }
  return overlay(tasks, own);
}

/** The names of all tools of a server, page by page. */
async function toolsOf(client: Client): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await client.listTools!(cursor === undefined ? undefined : { cursor });
    names.push(...page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
    if (cursor === undefined) return names;
  }
  throw invalid(WHERE, 'client', `${MOST_PAGES} pages of tools and no end`, 'a server whose list of tools ends');
}
