import { describe, expect, test } from 'vitest';
import type { QuotaReading } from '../../src/base/verdict.ts';
import { DIALECTS, KNOWN_LIMIT_NAMES, WAIT_HEADERS } from '../../src/feedback/dialects.ts';
import { placeOf } from '../../src/feedback/header-names.ts';
import { headerReader } from '../../src/feedback/headers.ts';
import { readHint } from '../../src/feedback/hint.ts';
import { parseMoment } from '../../src/feedback/moment.ts';
import { readQuotas } from '../../src/feedback/quota-headers.ts';
import { read } from './support/pages.ts';

const PAGE = read('docs/reading.md');
const NOW = Date.UTC(2026, 7, 7, 20, 59, 30);
const here = { wallNow: () => NOW };

function rowsUnder(heading: string): string[][] {
  const section = PAGE.split(/^#+ /m).find((one) => one.startsWith(heading)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const codesIn = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '');

describe('how long to stay away', () => {
  test('the page has every header of the table, in its order', () => {
    expect(rowsUnder('How long').map(([name]) => codesIn(name)[0])).toEqual(WAIT_HEADERS.map(({ name }) => name));
  });

  test.each(rowsUnder('How long'))('%s: %s', (name, unit) => {
    const headers = { [codesIn(name)[0] ?? '']: '1500' };
    expect(readHint(headerReader(headers)!, here)?.retryAfterMs).toBe(unit === 'milliseconds' ? 1_500 : 1_500_000);
  });
});

describe('how much is left', () => {
  const listed = rowsUnder('How much').slice(0, DIALECTS.length);

  test('the page has every family of the table', () => {
    expect(listed.map(([names]) => codesIn(names))).toEqual(DIALECTS.map(({ names }) => names));
  });

  test.each(KNOWN_LIMIT_NAMES)('%s is read', (name) => {
    const texts = ['50', '"a";r=50;t=3', '"a";q=50;w=3', '50;w=3', '32/40', 'api-usage=18/5000', '50:3'];
    // A window or a refill says nothing without the limit beside it.
    const place = placeOf(name);
    const beside: Record<string, string> =
      place?.field === 'window' || place?.field === 'fill' ? { [`${place.prefix}ratelimit-limit`]: '100' } : {};
    const readings = (text: string): readonly QuotaReading[] =>
      readQuotas(headerReader({ ...beside, [name]: text })!, here);
    if (place?.field === 'fill') return expect(readings('50')).toHaveLength(1);
    if (place?.field === 'window') return expect(readings('50')[0]).toHaveProperty('windowMs');
    if (place?.field === 'used') return expect(place.unit).toBe('requests');
    expect(texts.some((text) => readings(text).length > 0)).toBe(true);
  });

  test.each(rowsUnder('How much').slice(DIALECTS.length + 2))('the words %s', (words) => {
    for (const word of codesIn(words)) expect(placeOf(`acme-ratelimit-limit-${word}`), word).toBeDefined();
    expect(codesIn(words).length).toBeGreaterThan(0);
  });
});

describe('what a value means', () => {
  const meanings: Readonly<Record<string, (ms: number | undefined, moment: unknown) => boolean>> = {
    nothing: (ms) => ms === undefined,
    'the larger': () => true,
    'a very long wait': () => true,
    'a duration': (_, moment) => Object.hasOwn(moment as object, 'in'),
    'an instant': (_, moment) => Object.hasOwn(moment as object, 'at'),
    seconds: (_, moment) => Object.hasOwn(moment as object, 'in'),
  };

  test.each(rowsUnder('What a value'))('%s: %s', (values = '', meaning = '') => {
    const key = Object.keys(meanings).find((start) => meaning.startsWith(start));
    expect(key).toBeDefined();
    for (const value of codesIn(values)) {
      const text = value.replace('...', '9'.repeat(300));
      const moment = parseMoment(text, 1_000, here.wallNow);
      if (key === 'the larger') continue;
      expect(meanings[key ?? '']?.(moment === undefined ? undefined : 1, moment), value).toBe(true);
    }
  });

  test('notes are where the page says', () => {
    const noted = (text: string): boolean => 'note' in (parseMoment(text, 1_000, here.wallNow) ?? {});
    expect(['1786136400', '1786136400000', '2026-08-07T21:00:00'].every(noted)).toBe(true);
    expect(['60', '6m0s', '2026-08-07T21:00:00Z'].some(noted)).toBe(false);
  });
});
