import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { jsonlSink } from '../../../src/alerts.ts';
import type { Alert } from '../../../src/base/alert.ts';
import { alertOf, resolvedOf, signal } from './support.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-jsonl-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const linesOf = (path: string): Alert[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Alert);

test('appends a line per incident, making the folder, and goes on in a new file where logrotate took the old one', async () => {
  const path = join(folder, 'deep/er/alerts.jsonl');
  const sink = jsonlSink({ path });
  await sink.deliver(alertOf(), signal());
  await sink.deliver(resolvedOf(), signal());
  expect(linesOf(path).map(({ status }) => status)).toEqual(['firing', 'resolved']);
  expect(linesOf(path)[0]).toEqual(alertOf());
  renameSync(path, `${path}.1`);
  await sink.deliver(alertOf(), signal());
  expect([linesOf(path).length, linesOf(`${path}.1`).length]).toEqual([1, 2]);
});

test.each([
  ['a folder where a file should be', () => folder, 'EISDIR'],
  [
    'a folder that is a file',
    () => {
      writeFileSync(join(folder, 'file'), '');
      return join(folder, 'file/alerts.jsonl');
    },
    'ENOTDIR',
  ],
  ['a full disk', () => '/dev/full', 'ENOSPC'],
])('%s: told without the path, and worth another try', async (_, path, code) => {
  const delivery = jsonlSink({ path: path() }).deliver(alertOf(), signal());
  await expect(delivery).rejects.toMatchObject({
    name: 'DeliveryFailed',
    isRetryable: true,
    message: `the file cannot be written (${code})`,
  });
});

test('several processes append whole lines', async () => {
  const path = join(folder, 'alerts.jsonl');
  const program = `
    import { jsonlSink } from './src/alerts.ts';
    import { alertOf } from './test/alerts/sinks/alert.ts';
    const sink = jsonlSink({ path: ${JSON.stringify(path)} });
    const alert = alertOf({}, { explanation: 'x'.repeat(20_000) });
    for (let count = 0; count < 100; count += 1) await sink.deliver(alert, new AbortController().signal);
  `;
  const argv = ['--import', 'tsx', '--input-type=module', '--eval', program];
  await Promise.all([1, 2, 3].map(() => promisify(execFile)(process.execPath, argv)));
  expect(linesOf(path)).toHaveLength(300);
});

test('without a path there is no sink', () => {
  expect(() => jsonlSink({} as never)).toThrow('jsonlSink.path: missing; expected the path of a file');
});

test('a pipe that nobody reads is an error at once, not a thread that waits', async () => {
  const path = join(folder, 'pipe');
  await promisify(execFile)('mkfifo', [path]);
  await expect(jsonlSink({ path }).deliver(alertOf(), signal())).rejects.toThrow('the file cannot be written (ENXIO)');
});

test('none is begun while one is overdue', async () => {
  const sink = jsonlSink({ path: join(folder, 'alerts.jsonl') });
  const overdue = sink.deliver(alertOf(), AbortSignal.abort());
  await expect(sink.deliver(alertOf(), signal())).rejects.toThrow('an earlier write to the file has not ended');
  await overdue;
  await sink.deliver(alertOf(), signal());
  expect(linesOf(join(folder, 'alerts.jsonl'))).toHaveLength(2);
});
