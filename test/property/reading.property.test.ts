import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { QuotaReading } from '../../src/base/verdict.ts';
import { headerReader } from '../../src/feedback/headers.ts';
import { type FoundHint, readHint, readWait } from '../../src/feedback/hint.ts';
import { readQuotas } from '../../src/feedback/quota-headers.ts';
import { parseRetryAfter, parseRetryAfterMs } from '../../src/feedback/retry-after.ts';
import { configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';
import { hostileHeaders, hostileText, randomFrom } from './support/hostile.ts';
import { runs, SEEDED } from './support/seed.ts';
import { slowWaitMs } from './support/slow-reader.ts';

const NOW = Date.UTC(2026, 11, 1);
const here = { wallNow: () => NOW };
const seeds = fc.integer();
/** Values per run: the generator that is shared among them is what makes a million affordable. */
const EACH = 250;

function isWait(ms: unknown): boolean {
  return Number.isSafeInteger(ms) && (ms as number) >= 0;
}

function isAmount(value: unknown): boolean {
  return value === undefined || (Number.isFinite(value) && (value as number) >= 0);
}

function isSound(reading: QuotaReading): boolean {
  const { limit, remaining, resetMs, windowMs, unit, policy } = reading;
  const hasNumber = limit !== undefined || remaining !== undefined || resetMs !== undefined;
  return (
    hasNumber &&
    [limit, remaining].every(isAmount) &&
    [resetMs, windowMs].every((ms) => ms === undefined || isWait(ms)) &&
    typeof unit === 'string' &&
    /^[\w .:/-]{1,64}$/.test(unit) &&
    (policy === undefined || /^[\w .:/-]{1,64}$/.test(policy)) &&
    Object.values(reading).every((value) => value !== undefined)
  );
}

function check(isTrue: boolean, what: string, seen: unknown): void {
  if (!isTrue) throw new Error(`${what}: ${JSON.stringify(seen)}`);
}

describe(`reading what a server says (${SEEDED})`, () => {
  test('hostile headers, 300,000 values in 125,000 answers: no exception, no number that is none', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const random = randomFrom(seed);
        for (let n = 0; n < EACH; n += 1) {
          const { texts, container } = hostileHeaders(random);
          const read = headerReader(container);
          if (read === undefined) throw new Error('no container');
          const found: FoundHint | undefined = readHint(read, here);
          check(found === undefined || isWait(found.retryAfterMs), 'a wait', [texts, found]);
          check(found === undefined || /^[a-z-]+( \([\w ,]+\))?$/.test(found.readFrom), 'where it was read', [
            texts,
            found,
          ]);
          const quotas = readQuotas(read, here);
          check(quotas.every(isSound), 'a reading', [texts, quotas]);
        }
      }),
      runs(500),
    );
  });

  test('700,000 values: never shorter than what the slow reader says, and never another one', () => {
    let compared = 0;
    let waits = 0;
    fc.assert(
      fc.property(seeds, (seed) => {
        const random = randomFrom(seed);
        for (let n = 0; n < EACH; n += 1) {
          const text = hostileText(random);
          const ms = parseRetryAfter(text, here)?.ms;
          const exact = parseRetryAfterMs(text, here)?.ms;
          check(
            [ms, exact].every((one) => one === undefined || isWait(one)),
            'a wait',
            [text, ms, exact],
          );
          const slow = slowWaitMs(text, NOW);
          if (slow === undefined) continue;
          compared += 1;
          // An instant that has passed is no hint; a number of seconds may be 0.
          const isRelative = /^[\d.hms]+$/.test(text) && !(Number(text) >= 1e9);
          if (slow < 0 || (slow === 0 && !isRelative)) check(ms === undefined, 'what has passed', [text, ms]);
          else {
            waits += 1;
            check(ms !== undefined && ms >= slow && ms - slow <= 3, `${slow} ms`, [text, ms]);
          }
        }
      }),
      runs(2_800),
    );
    // Or nothing of it would mean anything.
    expect(compared).toBeGreaterThan(100);
    expect(waits / compared).toBeGreaterThan(0.5);
  });

  test('what a limit says comes back as it was said', () => {
    const amount = fc.integer({ min: 1, max: 1e9 });
    const word = fc.record({ limit: amount, remaining: fc.nat(1e9), resetS: fc.integer({ min: 1, max: 900_000_000 }) });
    const stamp = (resetS: number): string => new Date(NOW + resetS * 1_000).toISOString();
    const forms: ((s: number) => string)[] = [
      String,
      (s) => `${s}s`,
      (s) => String(NOW / 1_000 + s),
      (s) => String(NOW + s * 1_000),
      stamp,
      (s) => new Date(NOW + s * 1_000).toUTCString(),
      (s) => `${Math.floor(s / 3_600)}h${Math.floor((s % 3_600) / 60)}m${s % 60}s`,
    ];
    const names = [
      ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
      ['X-Rate-Limit-Limit', 'X-Rate-Limit-Remaining', 'X-Rate-Limit-Reset'],
      ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'],
      ['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
      ['x-ratelimit-requests-limit', 'x-ratelimit-requests-remaining', 'x-ratelimit-requests-reset'],
      ['acme-ratelimit-requests-limit', 'acme-ratelimit-requests-remaining', 'acme-ratelimit-requests-reset'],
    ];
    fc.assert(
      fc.property(
        word,
        fc.constantFrom(...forms),
        fc.constantFrom(...names),
        fc.boolean(),
        (said, form, name, isFetched) => {
          const texts = [String(said.limit), String(said.remaining), form(said.resetS)];
          const plain = Object.fromEntries(name.map((one, at) => [one, texts[at]!]));
          const read = headerReader(isFetched ? new Headers(plain) : plain)!;
          const { limit, remaining, resetS } = said;
          expect(readQuotas(read, here)).toEqual([{ limit, remaining, resetMs: resetS * 1_000, unit: 'requests' }]);
          expect(readHint(read, here)?.retryAfterMs).toBe(remaining === 0 ? resetS * 1_000 : undefined);
          expect(readWait(read, here)).toBeUndefined();
        },
      ),
      runs(5_000),
    );
  });

  test('whatever a 429 says: no start before it, none later than maxHold, and no lane that stands for ever', async () => {
    const DAY = 86_400_000;
    await fc.assert(
      fc.asyncProperty(seeds, fc.boolean(), async (seed, isThrown) => {
        const random = randomFrom(seed);
        const { container } = hostileHeaders(random);
        const rig = new Rig(configS({ whilePaused: 'wait' }));
        const fn = (): unknown => {
          const answer = { status: 429, headers: container };
          if (isThrown) throw Object.assign(new Error('x'), answer);
          return answer;
        };
        rig.call({ fn });
        await rig.settle();
        const told = rig.alerts[0]?.server.retryAfterMs;
        const next = rig.call();
        await rig.to(2 * DAY);
        const expected = told === undefined ? 2_000 : Math.min(told, DAY);
        expect(next.startedMs).toBeGreaterThanOrEqual(expected);
        expect(next.startedMs).toBeLessThanOrEqual(expected + 1_000);
        await rig.rest();
      }),
      runs(300),
    );
  });
});
