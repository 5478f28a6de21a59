/** Where in the `_meta` of a tool's result an MCP server tells a client of Penstock's refusal: the refusal's `error`. */
export const ERROR_META = 'penstock/error';

/** Where in the `_meta` of a tool's call a client tells the server of the call: `{ runId?, deadline?, remainingMs? }`. */
export const CALL_META = 'penstock';
