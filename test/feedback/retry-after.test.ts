import { afterEach, describe, expect, test } from 'vitest';
import { parseRetryAfter, parseRetryAfterMs } from '../../src/feedback/retry-after.ts';

const NOW = Date.UTC(2026, 9, 21, 7, 28, 0);
const local = { wallNow: () => NOW };
const read = (text: string): number | undefined => parseRetryAfter(text, local)?.ms;

describe('seconds', () => {
  test.each([
    ['0', 0],
    ['7', 7_000],
    [' 7 ', 7_000],
    ['007', 7_000],
    ['0.5', 500],
    ['1.5', 1_500],
    ['2.0', 2_000],
    ['2.', 2_000],
    ['.5', 500],
    ['299.997', 299_997],
    ['0.0001', 1],
    ['0.0010', 1],
    ['0.0011', 2],
    ['1.0005', 1_001],
    ['4.35', 4_350],
  ])('B33, B38: "%s" is %d ms, never rounded down and never dropped', (text, ms) => {
    expect(read(text)).toBe(ms);
  });

  test.each([59, 60, 61, 119, 120, 121, 600, 2_147_483, 2_147_484])(
    'B28: %d seconds stay what they are: there is no cap',
    (seconds) => {
      expect(read(String(seconds))).toBe(seconds * 1_000);
    },
  );

  test('B27: a number too long for a float is very large and finite, never no hint', () => {
    for (const digits of [16, 30, 400]) {
      const ms = read('9'.repeat(digits));
      expect(ms).toBeGreaterThan(1e12);
      expect(Number.isSafeInteger(ms)).toBe(true);
    }
    expect(read(`${'9'.repeat(400)}.5`)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('B27: 9999999999 is an instant in the year 2286', () => {
    expect(read('9999999999')).toBe(9_999_999_999_000 - NOW);
  });
});

test.each(['-1', '-3600', '-0.5', '-0', 'Wed, 21 Oct 2026 06:28:00 GMT', 'Wed, 21 Oct 2026 07:27:59 GMT'])(
  'B30: "%s" is no usable hint',
  (text) => {
    expect(read(text)).toBeUndefined();
  },
);

test.each([
  'soon',
  '',
  '   ',
  'NaN',
  'Infinity',
  '-Infinity',
  '0x10',
  '1e3',
  '12abc',
  '²',
  '٥',
  '1_000',
  '1 000',
  '.',
  '5;',
  '1.2.3',
  'Wed, 99 Foo 2026 99:99:99 GMT',
  'Wed, 31 Feb 2026 07:28:30 GMT',
  'Wed, 21 Oct 2026 24:28:30 GMT',
  'Wed, 21 Oct 2026 07:28:30',
  '2026-10-21',
])('B31: "%s" is no usable hint', (text) => {
  expect(read(text)).toBeUndefined();
});

test.each([
  ['5, 10', 10_000],
  ['10,5', 10_000],
  ['5, soon', 5_000],
  ['-1, 3', 3_000],
  ['5, Wed, 21 Oct 2026 07:28:30 GMT', 30_000],
  ['Wed, 21 Oct 2026 07:28:30 GMT, Wednesday, 21-Oct-26 07:29:00 GMT', 60_000],
])('B31: of "%s" the longest counts', (text, ms) => {
  expect(read(text)).toBe(ms);
});

describe('HTTP-date', () => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  const forms = ['Wed, 21 Oct 2026 07:28:30 GMT', 'Wednesday, 21-Oct-26 07:28:30 GMT', 'Wed Oct 21 07:28:30 2026'];
  const zones = ['UTC', 'America/New_York', 'Asia/Kolkata'];
  test.each(zones.flatMap((tz) => forms.map((form) => [form, tz] as const)))(
    'B32: "%s" is 30 s away in %s',
    (form, tz) => {
      process.env.TZ = tz;
      expect(read(form)).toBe(30_000);
    },
  );

  test('a day of one digit may be padded with a space or not at all', () => {
    const context = { wallNow: () => Date.UTC(2026, 10, 6, 8, 49, 36) };
    for (const form of ['Fri Nov  6 08:49:37 2026', 'Fri, 6 Nov 2026 08:49:37 GMT', 'fri, 06 nov 2026 08:49:37 gmt']) {
      expect(parseRetryAfter(form, context)?.ms).toBe(1_000);
    }
  });

  test('a two-digit year more than 50 years ahead is in the past', () => {
    const context = { wallNow: () => Date.UTC(2026, 0, 1) };
    expect(parseRetryAfter('Sunday, 06-Nov-94 08:49:37 GMT', context)).toBeUndefined();
    expect(parseRetryAfter('Friday, 06-Nov-26 08:49:37 GMT', context)?.ms).toBe(
      Date.UTC(2026, 10, 6, 8, 49, 37) - Date.UTC(2026, 0, 1),
    );
  });

  test('29 February exists', () => {
    const context = { wallNow: () => Date.UTC(2028, 1, 29) };
    expect(parseRetryAfter('Tue, 29 Feb 2028 00:00:10 GMT', context)?.ms).toBe(10_000);
  });
});

describe('epochs', () => {
  test('B35: epoch seconds and milliseconds are read as instants and noted', () => {
    const at = NOW + 30_000;
    expect(parseRetryAfter(String(at / 1_000), local)).toEqual({
      ms: 30_000,
      note: 'read as an epoch in seconds',
    });
    expect(parseRetryAfter(String(at), local)).toEqual({
      ms: 30_000,
      note: 'read as an epoch in milliseconds',
    });
    expect(parseRetryAfter(`${at / 1_000}.25`, local)?.ms).toBe(30_250);
  });

  test('B35: the last number that is still a duration is one below 1e9', () => {
    expect(read('999999999')).toBe(999_999_999_000);
    expect(read('1000000000')).toBeUndefined();
  });
});

describe('B36: a local clock that is wrong by 40 s', () => {
  const dateHeader = 'Fri, 07 Aug 2026 12:00:00 GMT';
  const inHalfAMinute = 'Fri, 07 Aug 2026 12:00:30 GMT';
  const server = Date.UTC(2026, 7, 7, 12, 0, 0);

  test.each([40_000, -40_000])("instants are read against the answer's own Date (%d ms)", (skewMs) => {
    const context = { wallNow: () => server + skewMs, dateHeader };
    expect(parseRetryAfter(inHalfAMinute, context)?.ms).toBe(30_000);
    expect(parseRetryAfter(String(server / 1_000 + 30), context)?.ms).toBe(30_000);
  });

  test('where Age is present, or Date unreadable or absent, the local clock counts, never below zero', () => {
    const at = (contextOf: object): number | undefined =>
      parseRetryAfter(inHalfAMinute, { wallNow: () => server - 40_000, ...contextOf })?.ms;
    expect(at({ dateHeader, ageHeader: '12' })).toBe(70_000);
    expect(at({ dateHeader: 'yesterday' })).toBe(70_000);
    expect(at({})).toBe(70_000);
    expect(at({ dateHeader, ageHeader: ' ' })).toBe(30_000);
    expect(parseRetryAfter(inHalfAMinute, { wallNow: () => server + 40_000 })).toBeUndefined();
  });
});

describe('retry-after-ms', () => {
  test.each([
    ['1500', 1_500],
    ['0', 0],
    ['0.2', 1],
    ['1500.5', 1_501],
    ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
    [String(NOW + 30_000), 30_000],
    ['-5', undefined],
    ['1e3', undefined],
    ['', undefined],
  ])('"%s" is %s ms', (text, ms) => {
    expect(parseRetryAfterMs(text, local)?.ms).toBe(ms);
  });
});
