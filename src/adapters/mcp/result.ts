import { ERROR_META } from '../../base/mcp-wire.ts';
import { type OnRefused, type Refusal, refusalOf } from '../support/refusal.ts';

/**
 * A refusal as MCP passes it on intact: an error whose text is JSON, the same in `_meta` for programs. Never in
 * `structuredContent`: a client that knows the tool's output schema throws there, errors included.
 */
export type RefusedResult = {
  isError: true;
  content: { type: 'text'; text: string }[];
  _meta: { [ERROR_META]: Refusal['error'] };
};

/** What the model is told; throws the error where that was asked for, or where it is no refusal. */
export function refusedResult(error: unknown, downstream: string, onRefused: OnRefused = 'return'): RefusedResult {
  const refusal = onRefused === 'throw' ? undefined : refusalOf(error, downstream);
  if (refusal === undefined) throw error;
  return asResult(refusal);
}

/** A refusal as the result of a tool. */
export function asResult(refusal: Refusal): RefusedResult {
  return {
    isError: true,
    content: [{ type: 'text', text: JSON.stringify(refusal) }],
    _meta: { [ERROR_META]: refusal.error },
  };
}

/** Whether a tool's result is a refusal that was made here. */
export function isRefusedResult(result: unknown): result is RefusedResult {
  const { isError, _meta } = (result ?? {}) as Partial<RefusedResult>;
  return isError === true && _meta?.[ERROR_META] !== undefined;
}
