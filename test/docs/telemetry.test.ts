import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDispatcher } from '../../src/index.ts';
import { ManualClock } from '../../src/testing.ts';
import { runBlock } from './support/example.ts';
import { blockAt, ROOT, read } from './support/pages.ts';

const PAGE = 'docs/telemetry.md';

test('Stop it: waiting calls first, then the SDK, then the process', async () => {
  const clock = new ManualClock();
  const dispatcher = createDispatcher(
    { downstreams: { carrier: { quota: '60/minute' } } },
    { clock, alertSinks: [], env: {} },
  );
  const done: string[] = [];
  let onSignal = (): void => undefined;
  let exited = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    exited = resolve;
  });
  const host = {
    once: (_signal: string, listener: () => void) => {
      onSignal = listener;
    },
    exit: () => {
      done.push('exit');
      exited();
    },
  };
  const packages = { './instrumentation.mjs': { sdk: { shutdown: async () => void done.push('sdk') } } };
  await runBlock(blockAt(PAGE, 'ts', 'Stop it'), { given: { dispatcher, process: host }, packages });
  const calls = Array.from({ length: 10 }, () => dispatcher.callDownstream('carrier', () => 1));
  void Promise.all(calls).then(() => done.push('calls'));
  await clock.advance(0);
  onSignal();
  await clock.advance(20_000);
  await ended;
  expect(done).toEqual(['calls', 'sdk', 'exit']);
});

test('nothing else on the pages listens for SIGTERM, and both give the drain the same time', () => {
  expect(blockAt(PAGE, 'js', 'Switch it on').code).not.toMatch(/process\.once|process\.on\(|exit\(/);
  const within = [...`${read(PAGE)}${read('README.md')}`.matchAll(/close\(\{ drain: true, within: '(\w+)' \}\)/g)];
  expect(within.map(([, time]) => time)).toEqual(['20s', '20s']);
});

test('what is said to be installed is what this was built and tested with', () => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string;
    devDependencies: Record<string, string>;
  };
  const [major, minor] = (manifest.devDependencies['@opentelemetry/api'] ?? '').split('.');
  for (const page of ['README.md', PAGE]) {
    const said = [...read(page).matchAll(/^npm install .*$/gm)].map(([line]) => line).join('\n');
    expect(said).toContain(`@opentelemetry/api@~${major}.${minor}.0`);
    expect(said).toContain(`@opentelemetry/sdk-node@${manifest.devDependencies['@opentelemetry/sdk-node']}`);
  }
  expect(read('README.md')).toContain(`npm install ./penstock-${manifest.version}.tgz`);
});
