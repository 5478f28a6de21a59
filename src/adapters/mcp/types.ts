import type { Dispatcher } from '../../contract.ts';
import type { CallContext } from '../../dispatch/context.ts';
import type { OnRefused } from '../support/refusal.ts';
import type { ToolMap } from '../support/tool-map.ts';

/**
 * A dispatcher, whatever names it knows. The types of a callback that is written in place are found by the compiler
 * only where no other type must be: so the name of a tool's downstream is checked when it is wrapped, not compiled.
 */
export type AnyDispatcher = Pick<Dispatcher<never>, 'callDownstream' | 'require'> & { readonly names: () => string[] };

/** Where calls go: exactly one of the two. */
export interface McpDestinations {
  /** The downstream of every tool. */
  readonly downstream?: string | undefined;
  /** The downstream of each tool by its name; `*` for all others, `false` for one that needs no gate. */
  readonly downstreams?: ToolMap | undefined;
}

/** What the adapters of both sides can be told. */
export interface McpOptions<Call> {
  /**
   * What becomes of a refusal, and of the downstream's own throttling: a result that the model can reason with
   * (default), or the error thrown.
   */
  readonly onRefused?: OnRefused | undefined;
  /** What else is known of a call; asked at every call. Its deadline counts beside the others, the rest goes before them. */
  readonly context?: ((call: Call) => CallContext | undefined) | undefined;
  /** Whether callers that ask for progress are told of their wait. Default: true. */
  readonly progress?: boolean | undefined;
}

/** One call of a client, as `context` sees it. */
export interface ClientToolCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>> | undefined;
  /** The `_meta` of its params. */
  readonly meta: Readonly<Record<string, unknown>> | undefined;
}

export interface GateClientOptions extends McpOptions<ClientToolCall>, McpDestinations {
  /**
   * Whether a server is told of a call's run and deadline, in `_meta.penstock` of its params. Default: true. With
   * false, `_meta.penstock` is left out altogether.
   */
  readonly tellServer?: boolean | undefined;
}

/** What of an MCP client is asked for. */
export interface ToolClient {
  readonly callTool: (params: never, resultSchema?: never, options?: never) => Promise<unknown>;
}

/** What of `RequestHandlerExtra` is read. */
export interface ToolExtra {
  readonly signal?: AbortSignal | undefined;
  readonly sessionId?: string | undefined;
  readonly authInfo?: { readonly clientId?: string | undefined } | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  readonly sendNotification?: ((notification: never) => Promise<void>) | undefined;
}

/** One call of a server's tool, as `context` sees it. */
export interface ServerToolCall {
  /** Where it is known. */
  readonly tool: string | undefined;
  /** As the tool's schema has read them; undefined for a tool without one. */
  readonly args: unknown;
  readonly extra: ToolExtra;
}

export interface GateToolOptions extends McpOptions<ServerToolCall> {
  /** The tool's name, for traces and alerts. */
  readonly tool?: string | undefined;
}

export interface GateServerOptions extends McpOptions<ServerToolCall>, McpDestinations {}

/** What of an `McpServer` is asked for. */
export interface ToolServer {
  readonly registerTool: (...args: never[]) => unknown;
}
