import type { Verdict } from '../../../src/base/verdict.ts';
import type { DownstreamPolicyInput } from '../../../src/policy/input.ts';
import { bare } from '../../support/configs.ts';
import { Rig, type RigOptions } from '../../support/rig.ts';

/** Answers that tell a kind by the classifier of these tests. */
export const SAYS: RigOptions = {
  classify: {
    says: ({ value }) =>
      typeof value === 'object' && value !== null && 'verdict' in value ? (value.verdict as Verdict) : undefined,
  },
};

export function rigOf(more: DownstreamPolicyInput = {}, options: RigOptions = {}): Rig {
  return new Rig(bare({ warm: { for: 0 }, whilePaused: 'wait', classify: 'says', ...more }), { ...SAYS, ...options });
}

export const exhausted = (server: object = {}) => ({ verdict: { outcome: 'exhausted', server } });
export const overloaded = (retryAfterMs?: number) => ({ status: 529, retryAfterMs, headers: {} });

/** When the next call starts, milliseconds from now. */
export async function nextIn(rig: Rig, fn: () => unknown = () => 'fine'): Promise<number> {
  const from = rig.t;
  const call = rig.call({ fn });
  for (let i = 0; i < 500 && !call.isSettled; i++) await rig.by(Math.max(1, rig.clock.nextTimerInMs ?? 1));
  return (call.startedMs ?? Number.NaN) - from;
}

/** What each of so many answers in a row holds, each of a call from after the hold before. */
export async function holdsOf(rig: Rig, ...answers: (() => unknown)[]): Promise<number[]> {
  const holds: number[] = [];
  for (const answer of answers) {
    rig.call({ fn: answer });
    await rig.settle();
    const [heldMs = 0] = rig
      .snap()
      .holds.map(({ leftMs }) => leftMs)
      .sort((a, b) => b - a);
    holds.push(heldMs);
    await rig.by(heldMs);
  }
  return holds;
}
