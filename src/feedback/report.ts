import { isError } from '../base/text.ts';
import type { Judge, Verdict } from '../base/verdict.ts';
import { REQUESTS } from '../base/words.ts';
import { isRefusal, quotasOf, withReset } from './decide.ts';
import { asStatus, property } from './fields.ts';
import { headerReader } from './headers.ts';
import { readHint } from './hint.ts';
import { checked, OUTCOMES } from './judge.ts';
import { SUCCESS } from './recognise.ts';

/**
 * Judges what was seen elsewhere (`report()`): anything that `fn` could have thrown or returned, a verdict,
 * `{ status, retryAfterMs }`, or headers alone. A bare status of 400 and above needs no headers here:
 * whoever reports it means an answer. Never throws.
 */
export function judgeReport(judge: Judge, outcome: unknown, how: { readonly wallNow: () => number }): Verdict {
  if (typeof outcome !== 'object' || outcome === null) return judge(outcome, isError(outcome));
  if (OUTCOMES.has(property(outcome, 'outcome'))) return withReset(checked(outcome, () => undefined));
  const status = statusOf(outcome);
  const thrown = status === undefined ? isError(outcome) : status >= 400;
  const verdict = judge(outcome, thrown);
  if (thrown || verdict.outcome !== 'success' || verdict.quotas !== undefined) return verdict;
  // What was thrown elsewhere may have come here as JSON, or from another realm.
  const asThrown = judge(outcome, true);
  if (isRefusal(asThrown)) return asThrown;
  if (status !== undefined) return verdict;
  try {
    const alone = headersAlone(outcome, how) ?? headersAlone(property(outcome, 'headers'), how);
    return alone ?? waitAlone(outcome) ?? verdict;
  } catch {
    return verdict;
  }
}

function statusOf(outcome: object): number | undefined {
  return asStatus(property(outcome, 'status')) ?? asStatus(property(outcome, 'statusCode'));
}

/**
 * Headers without a status tell of quotas, not of an outcome: servers send `Retry-After` with more than
 * refusals. So it raises no alert, and holds back what starts as a spent quota does.
 */
function headersAlone(container: unknown, how: { readonly wallNow: () => number }): Verdict | undefined {
  const read = headerReader(container);
  if (read === undefined) return undefined;
  const quotas = quotasOf([read], how);
  const waitMs = readHint(read, how)?.retryAfterMs ?? 0;
  const isKnown = quotas.some(({ remaining, resetMs }) => remaining === 0 && (resetMs ?? 0) >= waitMs);
  const wait = waitMs > 0 && !isKnown ? [{ remaining: 0, resetMs: waitMs, unit: REQUESTS }] : [];
  return quotas.length + wait.length === 0 ? undefined : { ...UNKNOWN, quotas: [...quotas, ...wait] };
}

/** Ends no row of incidents, and begins none: a success whose start is known would end one. */
const UNKNOWN: Verdict = { outcome: 'failed' };

/** Whoever reports a wait reports a refusal. */
function waitAlone(outcome: object): Verdict | undefined {
  if (typeof property(outcome, 'retryAfterMs') !== 'number') return undefined;
  const { retryAfterMs } = outcome as { readonly retryAfterMs: number };
  if (!(retryAfterMs >= 0)) return SUCCESS;
  return checked({ outcome: 'throttled', server: { retryAfterMs, readFrom: 'retryAfterMs' } }, () => undefined);
}
