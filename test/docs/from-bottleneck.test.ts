import Bottleneck from 'bottleneck';
import { expect, test } from 'vitest';
import * as adapter from '../../src/adapters/bottleneck.ts';
import type { Dispatcher } from '../../src/index.ts';
import { EXCEPTIONS } from '../contract/support.ts';
import { runBlock } from './support/example.ts';
import { blockAt, read } from './support/pages.ts';

const PAGE = 'docs/from-bottleneck.md';
const packages = { 'penstock/bottleneck': adapter };

test('Keep the limiter', async () => {
  const limiter = new Bottleneck({ maxConcurrent: 2, minTime: 1 });
  let done = 0;
  limiter.on('done', () => done++);
  const given = { limiter, askCarrier: async () => 'on its way' };
  const { exports } = await runBlock<{ dispatcher: Dispatcher; answer: string }>(
    blockAt(PAGE, 'ts', 'Keep the limiter'),
    {
      given,
      packages,
    },
  );
  expect(exports.answer).toBe('on its way');
  await exports.dispatcher.close();
  expect(done).toBe(1);
});

test('Take over the settings', async () => {
  const { exports, printed } = await runBlock<adapter.FromBottleneck>(blockAt(PAGE, 'ts', 'Take over the settings'), {
    packages,
  });
  expect(printed.join('\n')).toBe(blockAt(PAGE, 'text', 'Take over the settings').code);
  expect(exports.carried.map(({ option }) => option)).toEqual(['maxConcurrent', 'minTime', 'highWater']);
});

test('the exceptions are those of the suite', () => {
  const rows = section('Keep the limiter');
  expect(rows).toEqual(EXCEPTIONS.map(({ what, bottleneck }) => [what, bottleneck]));
});

test('every option and every method of Bottleneck has its row', () => {
  const proto = Bottleneck.prototype as unknown as Record<string, object>;
  const options = ['storeDefaults', 'instanceDefaults', 'redisStoreDefaults', 'jobDefaults'].flatMap((name) =>
    Object.keys(proto[name] ?? {}),
  );
  const named = section('Option by option')
    .map(([option]) => option)
    .join(' ');
  expect(options.filter((option) => !named.includes(`\`${option}`))).toEqual([]);
  const strategies = Object.keys(Bottleneck.strategy);
  expect(strategies.filter((strategy) => !named.includes(strategy))).toEqual([]);
  const methods = Object.getOwnPropertyNames(Bottleneck.prototype).filter((name) => /^[a-z]/.test(name));
  const ours = ['channel', 'channel_client', 'clusterQueued', 'constructor', 'version', 'strategy'];
  const rows = section('Method by method')
    .map(([method]) => method)
    .join(' ');
  const isMissing = (name: string): boolean =>
    typeof Reflect.get(Bottleneck.prototype, name) === 'function' &&
    !ours.includes(name) &&
    !rows.includes(`\`${name}(`);
  expect(methods.filter(isMissing)).toEqual([]);
});

test('what our rows name is there', () => {
  const text = read(PAGE);
  for (const [, name] of text.matchAll(/`PENSTOCK__CARRIER__(\w+)=/g)) expect(name).toBe('ENGINE');
});

/** The cells of the tables below a heading, without their heads. */
function section(title: string): string[][] {
  const from = read(PAGE).split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
  return from
    .split('\n')
    .filter(
      (line) => line.startsWith('| ') && !/^\| (-+|Bottleneck +\| Penstock|our own lane +\| Bottleneck)/.test(line),
    )
    .map((line) =>
      line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim()),
    );
}
