import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { WAITING } from './waiting.ts';

const SCENARIOS: Readonly<Record<string, readonly number[]>> = {
  'quota arithmetic and windows': [1, 2, 3, 4, 6, 7, 8, 10, 12, 13, 14, 15, 17],
  'clocks, timers and runtimes': [18, 20, 21, 22, 23, 24, 25],
  "the server's counters": [44, 46],
  'cooldown after 429': [51, 52, 53, 55, 57, 58, 60, 62, 64, 65],
  'RateLimit headers and classification': [43, 48, 49, 50],
  'abort and cancellation': [67, 68, 70, 71, 73, 75, 77],
  'Retry-After parsing': [27, 28, 29, 30, 31, 32, 33, 35, 36, 38, 39, 40, 41],
  deadlines: [78, 79, 80, 82],
  'queue, weights, priorities and concurrency': [
    84, 85, 86, 87, 89, 90, 91, 92, 94, 95, 97, 98, 99, 101, 103, 105, 106,
  ],
  telemetry: [107, 109],
};

const here = new URL('.', import.meta.url);
const tests = readdirSync(here)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => readFileSync(new URL(name, here), 'utf8'))
  .join('\n');

function idOf(number: number): string {
  return `B${String(number).padStart(2, '0')}`;
}

describe('every scenario has a test of its name', () => {
  it.each(Object.entries(SCENARIOS))('%s', (_, numbers) => {
    expect(numbers.map(idOf).filter((id) => !tests.includes(`'${id}: `))).toEqual([]);
  });

  it('what waits for something says for what', () => {
    for (const { id, part, waitsFor } of WAITING) {
      expect(id).toMatch(/^B\d{2,3}$/);
      expect([part, waitsFor]).not.toContain('');
    }
  });
});
