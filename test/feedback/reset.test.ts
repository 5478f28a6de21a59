import { afterEach, describe, expect, test } from 'vitest';
import { headerReader } from '../../src/feedback/headers.ts';
import { type FoundHint, readHint } from '../../src/feedback/hint.ts';
import { readQuotas } from '../../src/feedback/quota-headers.ts';

const NOW = Date.UTC(2026, 7, 7, 20, 59, 30);
const here = { wallNow: () => NOW };

function hint(headers: object, context = here): FoundHint | undefined {
  return readHint(headerReader(headers)!, context);
}

/** The wait that a reset of a limit that is used up says. */
function waitOf(reset: string, more: object = {}): number | undefined {
  return hint({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset, ...more })?.retryAfterMs;
}

function resetOf(reset: string, more: object = {}): number | undefined {
  return readQuotas(headerReader({ 'x-ratelimit-remaining': '5', 'x-ratelimit-reset': reset, ...more })!, here)[0]
    ?.resetMs;
}

const READ: readonly (readonly [string, number])[] = [
  ['2026-08-07T21:00:00Z', 30_000],
  ['6m0s', 360_000],
  ['17ms', 17],
  ['500ms', 500],
  ['7.66s', 7_660],
  ['2m59.56s', 179_560],
  ['60', 60_000],
  ['1786136400', 30_000],
  ['1786136400000', 30_000],
  // Durations that name their units.
  ['1s', 1_000],
  ['1m26.4s', 86_400],
  ['120ms', 120],
  ['4h36m28.223s', 16_588_223],
  ['23h18m29.144s', 83_909_144],
  ['1h', 3_600_000],
  ['1.5h', 5_400_000],
  ['1d2h', 93_600_000],
  ['45.837906927s', 45_838],
  ['1500us', 2],
  ['1500\u00b5s', 2],
  ['999ns', 1],
  ['30 seconds', 30_000],
  ['2 minutes', 120_000],
  ['PT30S', 30_000],
  ['PT1M30.5S', 90_500],
  ['P1DT2H', 93_600_000],
  ['00:01:30', 90_000],
  // Numbers.
  ['0.5', 500],
  ['11.382867097854614', 11_383],
  ['2163603', 2_163_603_000],
  ['1786136400.123', 30_123],
  ['1786136400.0001', 30_001],
  // Stamps.
  ['2026-08-07T21:00Z', 30_000],
  ['2026-08-07T21:00:00.25Z', 30_250],
  ['2026-08-07T21:00:00.0001Z', 30_001],
  ['2026-08-07T21:00:00.123456789Z', 30_124],
  ['2026-08-07t21:00:00z', 30_000],
  ['2026-08-07T23:00:00+02:00', 30_000],
  ['2026-08-07T14:00:00-0700', 30_000],
  ['2026-08-07T23:00+02', 30_000],
  ['2026-08-07 14:00:00 -0700', 30_000],
  ['2026-08-07 21:00:00 UTC', 30_000],
  ['2026-08-07 21:00:00 +0000 UTC', 30_000],
  ['20260807T210000Z', 30_000],
  ['2026-08-07T21:00:00', 30_000],
  ['Fri, 07 Aug 2026 21:00:00 GMT', 30_000],
  ['Fri, 07 Aug 2026 23:00:00 +0200', 30_000],
  ['Friday, 07-Aug-26 21:00:00 GMT', 30_000],
  ['Fri Aug  7 21:00:00 2026', 30_000],
  ['Fri Aug 07 21:00:00 UTC 2026', 30_000],
  ['Fri Aug 07 2026 23:00:00 GMT+0200 (Central European Summer Time)', 30_000],
  ['Fri Aug 07 2026 21:00:00 GMT', 30_000],
  ['"2026-08-07T21:00:00Z"', 30_000],
  // Lists: the latest.
  ['5, 30', 30_000],
  ['Fri, 07 Aug 2026 21:00:00 GMT, 7', 30_000],
  ['1,000', 1_000_000],
];

const zone = process.env.TZ;
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

describe.each(['UTC', 'America/New_York', 'Asia/Kolkata'])('in %s', (tz) => {
  test.each(READ)('B41: "%s" is %d ms', (text, ms) => {
    process.env.TZ = tz;
    expect(waitOf(text)).toBe(ms);
    expect(resetOf(text)).toBe(ms);
  });
});

test.each([
  'abc',
  '',
  '   ',
  'NaN',
  'Infinity',
  '1e3',
  '0x10',
  '+30',
  '-1',
  '-30',
  '-5s',
  '٣٠',
  '3 0',
  '30!',
  '12abc',
  '1m!',
  'm',
  's',
  'P',
  'PT',
  '2026',
  '2026-08-07',
  '21:00',
  '2026-13-07T21:00:00Z',
  '2026-02-29T21:00:00Z',
  '2026-08-07T24:00:00Z',
  '2026-08-07T21:60:00Z',
  '2026-08-07T21:00:00+25:00',
  '2026-08-07 21:00:00 EST',
  'Fri Aug 07 2026 21:00:00 PST',
  'tomorrow',
  'true',
  '[object Object]',
])('B41: "%s" is no reset', (text) => {
  // '2026' is a number of seconds, and so it must be read; what must not be is 2,026 from a stamp.
  const expected = text === '2026' ? 2_026_000 : undefined;
  expect(waitOf(text)).toBe(expected);
  expect(resetOf(text)).toBe(expected);
});

test('B41: a number too long for a float is a very long wait, never none', () => {
  for (const text of ['9'.repeat(400), `${'9'.repeat(400)}.5`, `${'9'.repeat(400)}h`, '9'.repeat(400).concat('s')]) {
    expect(waitOf(text)).toBe(Number.MAX_SAFE_INTEGER);
  }
});

describe('the past', () => {
  test.each(['1786136369', '1786136369000', '2026-08-07T20:59:29Z', 'Fri, 07 Aug 2026 20:59:29 GMT', '0'])(
    '"%s" is no hint, and a reading of 0',
    (text) => {
      expect(waitOf(text)).toBeUndefined();
      expect(resetOf(text)).toBe(0);
    },
  );

  test('a stamp cut off at the minute may mean the end of that minute', () => {
    expect(waitOf('2026-08-07T20:59Z')).toBe(30_000);
    expect(waitOf('2026-08-07T20:58Z')).toBeUndefined();
    expect(resetOf('2026-08-07T20:59Z')).toBe(30_000);
    expect(resetOf('2026-08-07T20:58Z')).toBe(0);
  });

  test('beside Retry-After it is not read at all', () => {
    expect(waitOf('2026-08-07T20:59Z', { 'retry-after': '12' })).toBe(12_000);
  });
});

describe('B36: instants are read against the answer’s own Date', () => {
  const date = { date: 'Fri, 07 Aug 2026 20:49:30 GMT' };
  test.each([
    ['1786135800', 30_000],
    ['2026-08-07T20:50:00Z', 30_000],
    ['30', 30_000],
  ])('"%s"', (text, ms) => {
    expect(waitOf(text, date)).toBe(ms);
    expect(resetOf(text, date)).toBe(ms);
  });

  test('unless a cache has kept it', () => {
    expect(waitOf('1786136400', { ...date, age: '600' })).toBe(30_000);
    expect(waitOf('1786136400', { ...date, age: '' })).toBe(630_000);
    expect(waitOf('1786136400', { date: 'yesterday' })).toBe(30_000);
  });
});

describe('which reset counts', () => {
  test('the latest of the limits that are used up', () => {
    const found = hint({
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '6m0s',
      'x-ratelimit-remaining-images': '3',
      'x-ratelimit-reset-images': '1h',
    });
    expect(found).toEqual({ retryAfterMs: 360_000, readFrom: 'x-ratelimit-reset-tokens' });
  });

  test.each([
    ['B43: one beside a remaining above 0 is another limit’s clock', { 'x-ratelimit-remaining': '4885' }, undefined],
    ['one that stands alone was sent for this refusal', {}, 3_600_000],
    ['one beside a limit alone, likewise', { 'x-ratelimit-limit': '60' }, 3_600_000],
    ['one beside a count that the server does not know', { 'x-ratelimit-remaining': '-1' }, 3_600_000],
    ['one of a limit that was overdrawn', { 'x-ratelimit-remaining': '-12' }, 3_600_000],
    ['one beside a 0 with a fraction', { 'x-ratelimit-remaining': '0.0' }, 3_600_000],
    ['one beside less than one', { 'x-ratelimit-remaining': '0.4' }, 3_600_000],
    ['one beside a count of what is used', { 'x-ratelimit-limit': '60', 'x-ratelimit-used': '61' }, 3_600_000],
    ['one beside a count that leaves some', { 'x-ratelimit-limit': '60', 'x-ratelimit-used': '59' }, undefined],
  ])('%s', (_, more, ms) => {
    expect(hint({ 'x-ratelimit-reset': '3600', ...more })?.retryAfterMs).toBe(ms);
  });

  test('what counts from the answer comes before what needs a clock', () => {
    const discord = {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1786136999.5',
      'x-ratelimit-reset-after': '64.57',
    };
    expect(hint(discord)).toEqual({ retryAfterMs: 64_570, readFrom: 'x-ratelimit-reset-after' });
    expect(hint({ ...discord, 'x-ratelimit-reset-after': '?' })?.retryAfterMs).toBe(629_500);
    expect(hint({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-ms': '1500' })?.retryAfterMs).toBe(1_500);
  });

  test('an epoch is noted, and its value never told', () => {
    const found = hint({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1786136400' });
    expect(found?.readFrom).toBe('x-ratelimit-reset (read as an epoch in seconds)');
    const zoneless = hint({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '2026-08-07 21:00:00' });
    expect(zoneless?.readFrom).toBe('x-ratelimit-reset (without a zone, read as UTC)');
  });

  test('a window without a limit (size 0) does not hold anybody back', () => {
    const brave = { 'x-ratelimit-limit': '1, 0', 'x-ratelimit-remaining': '0, 0', 'x-ratelimit-reset': '1, 1419704' };
    expect(hint(brave)?.retryAfterMs).toBe(1_000);
    expect(hint({ ...brave, 'x-ratelimit-remaining': '1, 0' })).toBeUndefined();
  });

  test('the server’s own word on which of its limits refuses', () => {
    const two = {
      'anthropic-ratelimit-unified-5h-reset': '1786140000',
      'anthropic-ratelimit-unified-7d-reset': '1786740000',
      'anthropic-ratelimit-unified-5h-status': 'rejected',
      'anthropic-ratelimit-unified-7d-status': 'allowed_warning',
    };
    expect(hint(two)?.retryAfterMs).toBe(3_630_000);
  });
});
