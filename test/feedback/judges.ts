import { createJudge, type JudgeOptions } from '../../src/feedback/judge.ts';

export const NOW = Date.UTC(2026, 0, 1);

export function judgeWith(options: Partial<JudgeOptions> = {}): ReturnType<typeof createJudge> {
  return createJudge({
    downstream: 'carrier',
    throttleStatuses: [429],
    wallNow: () => NOW,
    onClassifierFailure: () => undefined,
    ...options,
  });
}

export const judge = judgeWith();
export const bySeven = {
  outcome: 'throttled',
  server: { status: 429, retryAfterMs: 7_000, readFrom: 'retry-after' },
};
export const noHint = { outcome: 'throttled', server: { status: 429 } };
