export { gateClient } from './mcp/client.ts';
export type { RefusedResult } from './mcp/result.ts';
export { gateServer } from './mcp/server.ts';
export { gateTool } from './mcp/tool.ts';
export { type TransportFetch, transportFetch } from './mcp/transport-fetch.ts';
export type {
  AnyDispatcher,
  ClientToolCall,
  GateClientOptions,
  GateServerOptions,
  GateToolOptions,
  McpDestinations,
  McpOptions,
  ServerToolCall,
  ToolClient,
  ToolExtra,
  ToolServer,
} from './mcp/types.ts';
export type { OnRefused, Refusal } from './support/refusal.ts';
export type { ToolContext, ToolMap, ToolRule } from './support/tool-map.ts';
