import { describe, expect, test } from 'vitest';
import { buildAlert } from '../../src/alerts/alert.ts';
import type { AlertFacts } from '../../src/base/alert.ts';
import type { QuotaEvidence } from '../../src/base/evidence.ts';
import { diagnose } from '../../src/feedback/diagnosis.ts';
import { factsOf, origin } from '../alerts/facts.ts';
import { counter, hypotheses, SIXTY } from './found.ts';

describe('a restart', () => {
  const day: QuotaEvidence = { ...SIXTY, text: '20000/day', limit: 20_000, windowMs: 86_400_000, share: 20_000 };
  const both = {
    quotas: [SIXTY, day],
    change: {
      declared: [...factsOf().declared, { text: '20000/day', limit: 20_000, windowMs: 86_400_000, unit: 'requests' }],
      longestWindowMs: 86_400_000,
    },
  };
  const up = (processUpMs: number, sinceHoldMs?: number): Partial<AlertFacts> => ({
    observed: { ...factsOf().observed, processUpMs, ...(sinceHoldMs === undefined ? {} : { sinceHoldMs }) },
  });
  const inARow = (n: number): Partial<AlertFacts> => ({ incident: { ...factsOf().incident, inARow: n } });
  const asks = (retryAfterMs?: number): Partial<AlertFacts> => ({
    server: { status: 429, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  });
  const HOURS = 3_600_000;

  test.each<[string, Partial<AlertFacts>, string]>([
    ['the first refusal', up(30_000), 'restart'],
    ['after a hold', up(30_000, 1_000), 'unknown'],
    ['the second in a row', { ...up(30_000), ...inARow(2) }, 'unknown'],
    ['the third in a row', { ...up(30_000), ...inARow(3) }, 'unknown'],
    ['a wait that is longer than every window', { ...up(30_000), ...asks(120_000) }, 'unknown'],
    ['a wait of a whole window, and one second', { ...up(30_000), ...asks(61_000) }, 'restart'],
  ])('of 60/minute: %s', (_, change, expected) => {
    expect(hypotheses({}, change)).toEqual([expected]);
  });

  test.each<[string, Partial<AlertFacts>, string]>([
    ['seconds, after nine hours', { ...up(9 * HOURS), ...asks(5_000) }, 'unknown'],
    ['no wait, after nine hours', { ...up(9 * HOURS), ...asks() }, 'unknown'],
    ['hours, after nine hours', { ...up(9 * HOURS), ...asks(6 * HOURS) }, 'restart'],
    ['hours, after two days', { ...up(48 * HOURS), ...asks(6 * HOURS) }, 'unknown'],
    ['seconds, after half a minute', { ...up(30_000), ...asks(5_000) }, 'restart'],
  ])('of 60/minute and 20000/day: %s', (_, change, expected) => {
    expect(hypotheses({ quotas: both.quotas }, { ...both.change, ...change })).toEqual([expected]);
  });

  test('what was used before explains the first refusal, not the next ones', () => {
    const before = counter({ ours: 10, oursAtMost: 10, before: 50 });
    expect(hypotheses(before, up(30_000))).toEqual(['restart']);
    expect(hypotheses(before, up(30_000, 1_000))).toEqual(['unknown']);
  });

  test.each([
    [inARow(2), 'The 2nd time in a row since this process started, so a restart does not explain it.'],
    [inARow(3), 'The 3rd time in a row since this process started, so a restart does not explain it.'],
    [{}, 'Not the first time since this process started, so a restart does not explain it.'],
  ])('later it is said that it is none: %o', (change, expected) => {
    const facts = factsOf({ ...up(30_000, 5_000), ...change });
    const { findings } = diagnose({ ...facts, evidence: { workers: 1, quotas: [SIXTY], counters: [], bunches: [] } });
    const { explanation } = buildAlert({ ...facts, findings }, origin);
    expect(explanation).toContain(expected);
    expect(explanation).not.toContain('Nothing is to be done');
  });
});
