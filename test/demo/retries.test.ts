import { describe, expect, test } from 'vitest';
import { backoffMs, THREE_RETRIES, withRetries } from '../../demo/retries.ts';

describe('the usual retries', () => {
  test('half a second, doubling, up to eight, with up to a quarter taken off', () => {
    const waits = (random: number) => [0, 1, 2, 3, 4, 5].map((n) => backoffMs(THREE_RETRIES, n, null, () => random));
    expect(waits(0)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000]);
    expect(waits(1)).toEqual([375, 750, 1_500, 3_000, 6_000, 6_000]);
  });

  test('never earlier than the server said', () => {
    expect(backoffMs(THREE_RETRIES, 0, '3', () => 0)).toBe(3_000);
    expect(backoffMs(THREE_RETRIES, 0, '3', () => 1)).toBe(3_125);
  });

  test.each([
    ['a 429 four times: the last one is the answer', [429, 429, 429, 429], 429, 4],
    ['a success ends it', [503, 200], 200, 2],
    ['another error is not retried', [500], 500, 1],
  ])('%s', async (_name, statuses, status, attempts) => {
    let made = 0;
    const attempt = async () => new Response(null, { status: statuses[made++] ?? 599 });
    const last = await withRetries(attempt, undefined, () => 0);
    expect([last.status, made]).toEqual([status, attempts]);
  });

  test('a caller that has gone is not waited for', async () => {
    const attempt = async () => new Response(null, { status: 429 });
    const gone = withRetries(attempt, AbortSignal.abort(new Error('gone')), () => 60_000);
    await expect(gone).rejects.toThrow();
  });
});
