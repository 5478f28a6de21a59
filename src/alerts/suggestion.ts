import type { Alert, AlertFacts } from '../base/alert.ts';

/**
 * A change of the policy that fits the evidence; so far only the first quota of a downstream that
 * declares none: what is known to have been answered in the widest window that we counted. Calls that
 * were refused or have no answer yet are not: a burst of a hundred would propose a hundred.
 */
export function suggestionFor(facts: AlertFacts): Alert['suggestion'] {
  if (facts.name !== 'QuotaModelWrong' || facts.declared.length > 0) return undefined;
  const widest = facts.observed.windows
    .filter(({ starts }) => starts > 0)
    .reduce<{ windowMs: number; starts: number } | undefined>(
      (best, window) => (best === undefined || window.windowMs > best.windowMs ? window : best),
      undefined,
    );
  if (widest === undefined) return undefined;
  const answered = widest.starts - facts.impact.inFlight - facts.incident.throttles;
  const to = `${Math.max(1, answered)}/${windowText(widest.windowMs)}`;
  return { path: `downstreams.${facts.downstream}.quota`, from: null, to };
}

/** A window as a policy writes it. */
function windowText(ms: number): string {
  if (ms === 1_000) return 'second';
  if (ms === 60_000) return 'minute';
  if (ms === 3_600_000) return 'hour';
  if (ms === 86_400_000) return 'day';
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
