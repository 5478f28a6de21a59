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
  const section = (name: string) => synced(`<!-- ${name}:start -->old<!-- ${name}:end -->`);

  test('every option, with its default', () => {
    expect(section('options')).toContain('| `utilization` | 0.8 |');
  });

  test('every error, with its code, whether a repeat can help, and when it comes', () => {
    expect(section('errors')).toContain(
      '| `QueueFull` | `RATE_LIMIT_QUEUE_FULL` | yes | `maxQueueDepth` calls wait already. |',
    );
    expect(section('errors')).toContain('| `InvalidCall` | `INVALID_CALL` | no |');
    expect(section('errors').split('\n')).toHaveLength(4 + 9);
  });

  test('text around a section stays; an unknown section is an error', () => {
    expect(synced('before <!-- errors:start --> <!-- errors:end --> after')).toMatch(/^before [\s\S]* after$/);
    expect(() => synced('<!-- other:start --><!-- other:end -->')).toThrow('no section called other');
  });
});
