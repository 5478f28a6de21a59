import type { AlertFacts } from '../base/alert.ts';
import { REQUESTS } from '../base/words.ts';
import type { Gate } from '../model/gate.ts';
import type { LanePorts } from './ports.ts';

/** Counted whatever is declared: quotas are often enforced over shorter windows than they are written in. */
const SHOWN_MS = [1_000, 10_000];

/** What a lane has seen of itself when something goes wrong. `heldUntil`: the end of the hold before, 0 if there was none. */
export function observe(
  lane: { readonly gate: Gate; readonly ports: LanePorts },
  heldUntil: number,
  now: number,
): AlertFacts['observed'] {
  const { gate, ports } = lane;
  const requests = gate.plan.quotas.filter((quota) => quota.unit === REQUESTS);
  const windows = [...new Set([...SHOWN_MS, ...requests.map((quota) => quota.windowMs)])].sort((a, b) => a - b);
  return {
    windows: windows.map((windowMs) => {
      const quota = requests.find((one) => one.windowMs === windowMs);
      const declared = quota === undefined ? {} : { declared: quota.limit, sized: quota.sized };
      return { windowMs, starts: gate.ledger.starts(windowMs, now), ...declared };
    }),
    ...(heldUntil > 0 && heldUntil <= now ? { sinceHoldMs: now - heldUntil } : {}),
    processUpMs: now - ports.bornAt,
  };
}
