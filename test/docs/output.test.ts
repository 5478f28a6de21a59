import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../../src/cli/run.ts';
import { createDispatcher, stderrSink } from '../../src/index.ts';
import { FakeDownstream, ManualClock } from '../../src/testing.ts';
import { blockAt, blocksOf, ROOT } from './support/pages.ts';

const output = (info: string): string =>
  blocksOf('README.md').find((block) => block.lang === 'text' && block.info === info)?.code ?? '';

test('what `penstock check` is said to print of the policy above it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-docs-'));
  try {
    const file = join(folder, 'downstreams.yaml');
    writeFileSync(file, blockAt('README.md', 'yaml', 'In your tools').code);
    let printed = '';
    const out = (text: string): void => void (printed += text);
    expect(await run(['check', file], { env: {}, out, err: out })).toBe(0);
    expect(printed).toContain(`${output('check')}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the policy of the README is a part of the one that ships', () => {
  const shipped = readFileSync(join(ROOT, 'config/downstreams.yaml'), 'utf8');
  for (const quota of ['60/minute', '250/second', '[500/minute, 200000 tokens/minute]']) {
    expect(shipped).toContain(`quota: ${quota}`);
    expect(blockAt('README.md', 'yaml', 'In your tools').code).toContain(`quota: ${quota}`);
  }
});

/** A carrier that asks for 15 minutes in the middle of a fan-out. */
async function alertText(): Promise<string> {
  let written = '';
  const told = new Promise<void>((resolve) => {
    const write = (text: string): void => {
      written += text;
      resolve();
    };
    const clock = new ManualClock();
    const { callDownstream } = createDispatcher(
      { downstreams: { carrier: { quota: '60/minute', owner: 'logistics', source: 'contract of 2019' } } },
      { clock, env: {}, random: () => 0.42, alertSinks: [stderrSink({ write, isTerminal: true })] },
    );
    const server = new FakeDownstream({ clock, limit: 60, windowMs: 60_000 });
    const ctx = { tool: 'get_delivery_status', runId: 'ticket-fan-out', deadline: clock.wallNow() + 3_600_000 };
    for (let n = 0; n < 200; n += 1) void callDownstream('carrier', () => server.call(), ctx);
    void clock.advance(90_000).then(() => {
      server.answerNext(1, 429, { 'retry-after': '900' });
      return clock.advance(2_000);
    });
  });
  await told;
  return written.trimEnd();
}

test('the alert', async () => expect(output('alert')).toBe(await alertText()));

test('the demo: its table has the rows that the demo prints', () => {
  const rows = [...output('demo').matchAll(/│ ([a-z4-5][^│]*?) +│/g)].map(([, label]) => label ?? '');
  expect(rows.length).toBeGreaterThan(6);
  const files = readdirSync(join(ROOT, 'demo'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const source = files
    .map((name) => readFileSync(join(ROOT, 'demo', name), 'utf8'))
    .join('\n')
    .replaceAll("\\'", "'");
  expect(rows.filter((label) => !source.includes(label))).toEqual([]);
});
