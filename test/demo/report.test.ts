import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { CarrierEntry } from '../../demo/carrier.ts';
import type { Row } from '../../demo/contest.ts';
import { paceOf } from '../../demo/pace.ts';
import { closing } from '../../demo/report/closing.ts';
import { bar, binsOf, waitHistogram } from '../../demo/report/histogram.ts';
import { lookFor, seconds } from '../../demo/report/look.ts';
import { resultsTable } from '../../demo/report/table.ts';
import { paceChart, timeline } from '../../demo/report/timeline.ts';
import type { SecondScene } from '../../demo/second-scene.ts';

const plain = lookFor({ isTTY: false }, {});
const colourful = lookFor({ isTTY: true }, {});

function row(changes: Partial<Row> = {}): Row {
  return {
    name: 'bare',
    how: '',
    requests: 2_947,
    throttled: 518,
    unavailable: 2_271,
    tickets: { asked: 800, answered: 190 },
    sync: { asked: 57, lost: 37 },
    customer: { asked: 17, answered: 5, worstMs: 503 },
    tookMs: 6_961,
    waitsMs: [8, 1_356, 3_984],
    loopLateMs: 3,
    ...changes,
  };
}

const kept = row({
  name: 'Penstock',
  throttled: 0,
  unavailable: 0,
  tickets: { asked: 800, answered: 800 },
  sync: { asked: 120, lost: 0 },
});

describe('the table', () => {
  test('says everything that was counted, contestants side by side', () => {
    const lines = resultsTable([row(), kept], plain).split('\n');
    const cells = lines
      .filter((line) => line.startsWith('│'))
      .map((line) =>
        line
          .split('│')
          .map((cell) => cell.trim())
          .slice(1, -1),
      );
    expect(cells).toEqual([
      ['', 'bare', 'Penstock'],
      ['requests the agents sent', '2947', '2947'],
      ['answers of 429, to anybody', '518', '0'],
      ['answers of 503, to anybody', '2271', '0'],
      ['tickets answered', '190 of 800', '800 of 800'],
      ['calls the nightly sync lost', '37 of 57', '0 of 120'],
      ["customer's calls answered", '5 of 17', '5 of 17'],
      ["customer's worst wait", '0.50 s', '0.50 s'],
      ['time taken', '6.96 s', '6.96 s'],
    ]);
  });

  test('colours change what it looks like and not what it says', () => {
    const painted = resultsTable([row(), kept], colourful);
    expect(painted).not.toBe(resultsTable([row(), kept], plain));
    expect(stripVTControlCharacters(painted)).toBe(resultsTable([row(), kept], plain));
  });
});

describe('colours', () => {
  test.each([
    ['a terminal', { isTTY: true }, {}, true],
    ['a terminal and NO_COLOR', { isTTY: true }, { NO_COLOR: '1' }, false],
    ['NO_COLOR beats FORCE_COLOR', { isTTY: true }, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    ['a file', { isTTY: false }, {}, false],
    ['a pipe under CI', {}, { CI: 'true' }, false],
    ['a file and FORCE_COLOR', {}, { FORCE_COLOR: '1' }, true],
    ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, false],
  ])('%s', (_name, stream, env, isColoured) => {
    expect(lookFor(stream, env).red('x') !== 'x').toBe(isColoured);
  });
});

describe('the histogram', () => {
  test('every wait is in one bin, a bound in the one below it', () => {
    const waits = [0, 100, 100.1, 500, 16_000, 16_001, 1e9];
    expect(binsOf(waits).map((bin) => bin.count)).toEqual([2, 2, 0, 0, 0, 0, 1, 2]);
  });

  test('shows the tickets that got no answer', () => {
    const lines = waitHistogram([row(), kept], plain).split('\n');
    expect(lines.at(-1)).toMatch(/no answer\s+█+\s*\S* 610\s+·$/);
  });

  test.each([
    [0, ''],
    [0.001, '▏'],
    [0.5, '██'],
    [1, '████'],
  ])('a bar of %s', (share, drawn) => expect(bar(share, 4)).toBe(drawn));
});

describe('the second scene', () => {
  const entry = (at: number, consumer: string, status: 200 | 429 = 200): CarrierEntry => ({
    at,
    consumer,
    status,
  });

  test('the pace counts who was answered and who was not, a quarter of a second each', () => {
    const entries = [
      entry(999, 'sync'),
      entry(1_000, 'ticket'),
      entry(1_249, 'customer'),
      entry(1_250, 'stranger'),
      entry(1_750, 'ticket', 429),
    ];
    expect(paceOf(entries, 1_000)).toEqual([
      { agents: 2, others: 0, throttled: 0 },
      { agents: 0, others: 1, throttled: 0 },
      { agents: 0, others: 0, throttled: 0 },
      { agents: 0, others: 0, throttled: 1 },
    ]);
    expect(paceChart(paceOf(entries, 1_000), plain).split('\n').slice(0, 3)).toEqual([
      '  agents, answered    █     2',
      '  others, answered     ▄    1',
      '  429, to anybody        ▄  1',
    ]);
  });

  test('moments are told in the order in which they happened', () => {
    const told = timeline(
      [
        { atMs: 1_500, text: 'b' },
        { atMs: 0, text: 'a' },
      ],
      plain,
    );
    expect(told).toBe('    0.00 s  a\n    1.50 s  b');
  });
});

describe('the closing', () => {
  const scene: SecondScene = {
    tickets: { asked: 260, answered: 260, tookMs: 8_000 },
    throttled: { agents: 3, sync: 1, stranger: 9 },
    customer: { asked: 18, answered: 12, refused: 6, slowestNoMs: 2 },
    incidents: 2,
    moments: [],
    pace: [],
    alerts: [],
    blocks: [],
  };
  const sentences = (text: string) => text.split(/(?<=\.) (?=[A-Z])/);

  test('two sentences, whatever happened', () => {
    const quiet = { ...scene, incidents: 0, throttled: { agents: 0, sync: 0, stranger: 0 } };
    for (const each of [scene, quiet, { ...scene, tickets: { ...scene.tickets, answered: 250 } }]) {
      for (const text of closing([row(), kept], each)) expect(sentences(text)).toHaveLength(1);
    }
  });

  test('loss is said where there was one', () => {
    const lossy = { ...scene, tickets: { ...scene.tickets, answered: 250 } };
    expect(closing([row(), kept], lossy)[1]).toContain('10 of 260 tickets were lost');
    expect(closing([row(), row({ name: 'Penstock', throttled: 1 })], scene)[0]).toContain('1 answer of 429');
  });
});

test.each([
  [8.2, '8 ms'],
  [512, '0.51 s'],
  [17_387, '17.4 s'],
])('%s ms is %s', (ms, text) => expect(seconds(ms)).toBe(text));
