import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { documents, synced } from '../../scripts/docs-sync.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');

test.each(documents())('%s says what the code says (npm run docs rewrites it)', (name) => {
  const text = read(name);
  expect(synced(text)).toBe(text);
});

test.each(['options', 'errors', 'bench'])('the README has a place for the %s', (section) => {
  expect(read('README.md')).toContain(`<!-- ${section}:start -->`);
});

describe('what is written', () => {
  const written = (name: string) => synced(`<!-- ${name}:start -->old<!-- ${name}:end -->`);
  const section = (name: string) => written(name).replaceAll(/ +\|/g, ' |');

  test('every option, with its default', () => {
    expect(section('options')).toContain('| `utilization` | 0.8 |');
  });

  test('every error, with its code, whether a repeat can help, and when it comes', () => {
    expect(section('errors')).toContain(
      '| `QueueFull` | `RATE_LIMIT_QUEUE_FULL` | yes | `maxQueueDepth` calls wait already. |',
    );
    expect(section('errors')).toContain('| `InvalidCall` | `INVALID_CALL` | no |');
    expect(section('errors').split('\n')).toHaveLength(6 + 10);
  });

  test('every code, with what it means and where', () => {
    expect(section('codes')).toContain('| Twilio | throttled | `20429` | `code` | moreInfo or more_info |');
  });

  test('columns have one width, or the formatter would have another opinion of the file', () => {
    const widths = (row: string) => row.split(/(?<!\\)\|/).map((cell) => cell.length);
    const rows = written('options')
      .split('\n')
      .filter((line) => line.startsWith('|'));
    expect(rows.length).toBeGreaterThan(20);
    for (const row of rows) expect(widths(row)).toEqual(widths(rows[0] ?? ''));
  });

  test('text around a section stays; an unknown section is an error', () => {
    expect(synced('before <!-- errors:start --> <!-- errors:end --> after')).toMatch(/^before [\s\S]* after$/);
    expect(() => synced('<!-- other:start --><!-- other:end -->')).toThrow('no section called other');
  });
});
