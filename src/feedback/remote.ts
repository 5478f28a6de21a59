import { ERROR_META } from '../base/mcp-wire.ts';
import type { Verdict } from '../base/verdict.ts';
import { isPlain, property } from './fields.ts';

/**
 * Refusals of another Penstock that are about all its calls: its downstream's quota is used up, as far as ours is
 * concerned. All others (a deadline, a cost, a name) are about the one call and hold nobody else back.
 */
const OF_ALL_CALLS: ReadonlySet<unknown> = new Set([
  'RATE_LIMITED',
  'RATE_LIMIT_QUEUE_FULL',
  'RATE_LIMIT_QUEUE_TIMEOUT',
]);

/**
 * What a server with a Penstock of its own has refused, read from the parts of a tool's result; undefined where
 * none of them is such a refusal. A code that this version does not know is a failure.
 */
export function remoteRefusal(parts: readonly unknown[]): Verdict | undefined {
  for (const part of parts) {
    const told = property(part, ERROR_META);
    const error = isPlain(told) ? told : property(part, 'error');
    if (isPlain(error) && (error === told || isComplete(error))) return verdictOf(error);
  }
  return undefined;
}

function verdictOf(error: object): Verdict {
  const code = property(error, 'code');
  if (typeof code !== 'string' || !OF_ALL_CALLS.has(code)) return { outcome: 'failed' };
  const wait = property(error, 'retry_after_ms');
  const isKnown = typeof wait === 'number' && wait >= 0;
  const hint = isKnown
    ? { retryAfterMs: Math.min(Math.ceil(wait), Number.MAX_SAFE_INTEGER), readFrom: ERROR_META }
    : {};
  // It says itself that waiting does not help: a bill, or a day, that is used up.
  const isExhausted = code === 'RATE_LIMITED' && property(error, 'retryable') === false;
  return { outcome: isExhausted ? 'exhausted' : 'throttled', server: { code, ...hint } };
}

/** Where `_meta` was lost on the way: the whole of a refusal, which nothing else looks like. */
function isComplete(error: object): boolean {
  return (
    typeof property(error, 'code') === 'string' &&
    typeof property(error, 'downstream') === 'string' &&
    typeof property(error, 'retryable') === 'boolean' &&
    typeof property(error, 'message') === 'string'
  );
}
