import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SORT_KEYS, sorted } from '../../src/cli/top-columns.ts';
import { findingOf, levelOf } from '../../src/cli/top-findings.ts';
import { type Answer, fleetOf } from '../../src/cli/top-fleet.ts';
import { shortCount, shortDuration, usedOf } from '../../src/cli/top-numbers.ts';
import { paint } from '../../src/cli/top-paint.ts';
import { rowOf } from '../../src/cli/top-row.ts';
import { clean, padded, shorten, widthOf, wrap } from '../../src/cli/top-text.ts';
import { FIRST_VIEW, report, screen } from '../../src/cli/top-view.ts';
import { AT, badNight, lane, quota, snapshot } from './support/snapshots.ts';

const time = (epochMs: number): string => new Date(epochMs).toISOString().slice(11, 19);

function answer(fields: Partial<Answer> = {}): Answer {
  return { url: 'http://127.0.0.1:9465', snapshots: [badNight()], ageMs: 0, ...fields };
}

function drawn(width: number, height: number, answers: readonly Answer[] = [answer()], view = FIRST_VIEW): string[] {
  return screen(fleetOf(answers), view, { width, height }, AT, time).map(({ text }) => text.trimEnd());
}

describe('one screen', () => {
  test('at 80 columns it says which is in trouble, why, until when and what to do', () => {
    expect(drawn(80, 26)).toMatchInlineSnapshot(`
      [
        "penstock top  checkout  policy 0123456789abcdef                         03:00:00",
        "2 of 5 in trouble, 2 to watch; alerts: 2 pending, 1 dropped             read now",
        "  DOWNSTREAM USED/SIZED QUEUE FLIGHT WAIT 50/95% HOLD               429 LAST REF",
        "! carrier     43/48/min    12   3/20   1.2s/9.8s 41s retry-after      2  19s   0",
        "! model        0/48/min     0      0           - PAUSED 20m operat…   0    - 118",
        "~ warehouse   131/200/s  8.7k  20/20     35s/43s -                    0    -   0",
        "~ a-downstr…  30/48/min     0      0         0/0 observe              0    -   0",
        "  search         30/min     0      2         0/0 -                    0    -   0",
        "",
        "! carrier: nothing starts until 03:00:41, 41 s left: it asked us to wait",
        "  (Retry-After). 2 429s in the last minute, the last 19 s ago. 12 wait, the",
        "  oldest for 38 s; a new call would wait 56 s. Do: nothing for the calls, it",
        "  goes on by itself; the alert QuotaModelWrong says what to change in the",
        "  policy.",
        "! model: new calls are refused until 03:20:00, 20 min left: an operator paused",
        "  it, "migration of the index". 118 refused in the last minute (since its start",
        "  mostly RATE_LIMITED). Do: resume() when the reason is gone.",
        "~ warehouse: 8.7k wait, the oldest for 44 s; a new call would wait 66 s",
        "  (concurrency). Do: find out why its answers are slow, before maxConcurrent is",
        "  raised.",
        "~ a-downstream-with-a-very-long-name-指名検索: observe: nothing is held back,",
        "  what it would do is only counted.",
        "",
        "",
        "",
        "sort: trouble   n u r w h t: sort  i: reverse  space: freeze  ?: help  q: quit",
      ]
    `);
  });

  test('at 60 columns the columns that matter least are left out', () => {
    expect(drawn(60, 9)).toMatchInlineSnapshot(`
      [
        "penstock top  checkout  policy 0123456789abcdef     03:00:00",
        "2 of 5 in trouble, 2 to watch; alerts: 2 pending,…  read now",
        "  DOWNSTREAM USED/SIZED QUEUE WAIT 50/95% HOLD           429",
        "! carrier     43/48/min    12   1.2s/9.8s 41s retry-aft…   2",
        "! model        0/48/min     0           - PAUSED 20m op…   0",
        "~ warehouse   131/200/s  8.7k     35s/43s -                0",
        "  2 more: arrow keys",
        "",
        "sort: trouble  ?: help  q: quit",
      ]
    `);
  });

  test('at 120 and 200 columns names are whole and there is more to see', () => {
    expect(drawn(120, 9).slice(2, 8)).toMatchInlineSnapshot(`
      [
        "  DOWNSTREAM              USED/SIZED QUEUE OLDEST EXPECT FLIGHT WAIT 50/95% HOLD                429 LAST REF LIMITED BY",
        "! carrier                  43/48/min    12    38s    56s   3/20   1.2s/9.8s 41s retry-after       2  19s   0 hold",
        "! model                     0/48/min     0      -      -      0           - PAUSED 20m operator   0    - 118 -",
        "~ warehouse                131/200/s  8.7k    44s    66s  20/20     35s/43s -                     0    -   0 concurrency",
        "  2 more: arrow keys",
        "",
      ]
    `);
    expect(drawn(200, 9)[2]).toContain('LIMITED BY');
    expect(drawn(200, 20).join('\n')).toContain('a-downstream-with-a-very-long-name-指名検索');
  });

  test('whatever the size, no line is wider and there are never more of them', () => {
    const answers = [answer(), answer({ problem: { text: 'no answer within 3 s', forMs: 12_000 }, ageMs: 13_000 })];
    for (let width = 1; width <= 130; width += 3) {
      for (const height of [1, 2, 5, 9, 24, 60]) {
        for (const isHelp of [false, true]) {
          const lines = screen(fleetOf(answers), { ...FIRST_VIEW, isHelp }, { width, height }, AT, time);
          expect(lines.length).toBeLessThanOrEqual(height);
          for (const { text } of lines) expect(widthOf(text), `${width}x${height}: ${text}`).toBeLessThanOrEqual(width);
        }
      }
    }
  });

  test('of very many downstreams those in trouble come first, and one can scroll to the last', () => {
    const many = Array.from({ length: 60 }, (_, n) => lane(`lane-${String(n).padStart(2, '0')}`));
    const all = [answer({ snapshots: [snapshot([...many, lane('zebra', { orphaned: 1 })])] })];
    const first = drawn(80, 24, all);
    expect(first[3]).toMatch(/^! zebra/);
    expect(first.join('\n')).toMatch(/\d+ more: arrow keys/);
    const last = drawn(80, 24, all, { ...FIRST_VIEW, skipped: 60 });
    expect(last.join('\n')).toContain('lane-59');
    expect(last.filter((text) => text.includes('lane-')).length).toBeGreaterThan(10);
  });

  test('who does not answer is named, with what it said last and how old that is', () => {
    const lost = answer({ ageMs: 12_300, problem: { text: 'nothing listens there', forMs: 11_000 } });
    const text = drawn(80, 24, [lost]).join('\n');
    expect(text).toMatch(/read 12 s ago/);
    expect(text).toContain('! http://127.0.0.1:9465 for 11 s: nothing listens there. What is shown is what');
    expect(text).toMatch(/carrier .* 29s retry-after/);
    const never = drawn(80, 24, [answer({ snapshots: [], problem: { text: 'nothing listens there', forMs: 0 } })]);
    expect(never[1]).toBe('! http://127.0.0.1:9465: nothing listens there.');
    expect(never.join('\n')).not.toContain('DOWNSTREAM');
  });

  test('no escape code without colour; with it the same text', () => {
    const lines = screen(fleetOf([answer()]), FIRST_VIEW, { width: 80, height: 24 }, AT, time);
    const plain = paint(lines, false);
    expect(plain).not.toContain('\u001B');
    const coloured = paint(lines, true);
    expect(coloured).toContain('\u001B[31m! carrier');
    expect(stripVTControlCharacters(coloured)).toBe(plain);
  });

  test('the report has it all, whatever the height', () => {
    const text = report(fleetOf([answer()]), 240, AT, time).map((line) => line.text);
    for (const name of ['search', 'carrier', 'model', 'warehouse', '指名検索']) expect(text.join('\n')).toContain(name);
    expect(text.filter((line) => /^[!~] /.test(line)).length).toBe(8);
  });
});

describe('several processes', () => {
  test('are added up, the worst wait and the longest hold shown', () => {
    const other = snapshot([lane('carrier', { queued: 5, running: 1, maxConcurrent: 20 })], {
      policyHash: 'fedcba9876543210',
    });
    const fleet = fleetOf([answer(), answer({ url: 'http://127.0.0.1:9466', snapshots: [other] })]);
    const carrier = fleet.rows.find((row) => row.downstream === 'carrier');
    expect(carrier).toMatchObject({
      processes: 2,
      queued: 17,
      inFlight: 4,
      maxConcurrent: 40,
      sizedPerSecond: 1.6,
      declaredPerSecond: 1,
      waitP95Ms: 9_812,
      holding: 1,
      hold: { leftMs: 41_000 },
    });
    const text = drawn(100, 40, [answer(), answer({ url: 'http://127.0.0.1:9466', snapshots: [other] })]).join('\n');
    expect(text).toContain('2 of 2 processes');
    expect(text).toMatch(/DOWNSTREAM +PROCS/);
    expect(text).toContain('~ not all run the same policy: 0123456789abcdef in 1, fedcba9876543210 in 1');
    expect(text.replaceAll(/\n */g, ' ')).toContain(
      '2 processes together are sized for 96/min, it allows 60/min: set workers: 2 in the policy.',
    );
  });

  test('that share the quota as they should are no news', () => {
    const shared = lane('carrier', { quotas: [{ ...quota('60/minute', 1), sizedPerSecond: 0.4 }] });
    const row = rowOf([0, 1].map(() => ({ snapshot: shared, at: AT, ageMs: 0 })));
    expect(levelOf(row)).toBe('fine');
  });

  test('a hold that has ended since it was read is over', () => {
    const [, carrier] = badNight().downstreams;
    const row = rowOf([{ snapshot: carrier!, at: AT, ageMs: 42_000 }]);
    expect(row.hold).toBeUndefined();
    expect(row.lastThrottledAgoMs).toBe(61_000);
  });
});

describe('what is the matter', () => {
  const said = (fields: Parameters<typeof lane>[1]) =>
    findingOf(rowOf([{ snapshot: lane('api', fields), at: AT, ageMs: 0 }]), time)?.text;

  test.each([
    ['nothing', {}, undefined],
    ['a short queue is how a lane paces itself', { queued: 3, oldestWaitMs: 900, expectedWaitMs: 1_200 }, undefined],
    [
      'a cooldown, with its row',
      { holds: [{ cause: 'cooldown', leftMs: 4_000, until: AT + 4_000 }], inARow: 3, lastThrottledAt: AT - 70_000 },
      'api: nothing starts until 03:00:04, 4 s left: it throttled us and gave no time (cooldown). the last 429 came 70 s ago; 3 incidents in a row. Do: nothing for the calls, it goes on by itself; the alert QuotaModelWrong says what to change in the policy.',
    ],
    [
      'a quota that is spent',
      { holds: [{ cause: 'quota-reset', leftMs: 7_200_000, until: AT + 7_200_000 }], isPaused: true },
      'api: new calls are refused until 05:00:00, 2 h left: its own counter says that the quota is spent until then. Do: nothing until then; if it comes often, ask for more quota or call less.',
    ],
    [
      'more calls than the quota',
      {
        queued: 20,
        oldestWaitMs: 30_000,
        expectedWaitMs: 25_000,
        limitedBy: 'quota',
        recent: { startsPerSecond: 0.79, refused: 0, throttled: 0 },
      },
      'api: 20 wait, the oldest for 30 s; a new call would wait 25 s (quota). Do: more calls come than its quota lets start; ask for more quota, or call less.',
    ],
    [
      'calls that hang',
      { overdue: 1, orphaned: 2 },
      'api: 1 call past its end still runs; 2 never settled, the place was given back. Do: look for what hangs in those calls; the gate is not the cause.',
    ],
    [
      'a hold that is only in the books',
      { mode: 'observe', isPaused: true, holds: [{ cause: 'cooldown', leftMs: 4_000, until: AT + 4_000 }] },
      'api: would hold calls back until 03:00:04, 4 s left: it throttled us and gave no time (cooldown). observe: nothing is held back, what it would do is only counted.',
    ],
    ['a mode', { mode: 'off' }, 'api: mode off: nothing is limited.'],
    ['warm', { warmLeftMs: 9_400 }, 'api: gentler pace for another 9 s after a hold.'],
  ] as const)('%s', (_, fields, text) => expect(said(fields as never)).toBe(text));

  test('what a process leaves out, or makes up, counts as nothing', () => {
    const odd = {
      downstream: 'x\u001B[31m\u202E',
      recent: null,
      holds: [null, 7],
      quotas: 'no',
      totals: 1,
      queued: 'many',
    };
    const row = rowOf([{ snapshot: odd as never, at: AT, ageMs: 0 }]);
    expect(row).toMatchObject({ downstream: 'x[31m', queued: 0, startsPerSecond: 0, refused: 0 });
    expect(levelOf(row)).toBe('fine');
  });
});

describe('sorting', () => {
  const rows = fleetOf([answer()]).rows;
  const names = (key: string, isReversed = false) =>
    sorted(rows, key, isReversed).map(({ downstream }) => downstream.slice(0, 5));

  test.each([
    ['s', ['carri', 'model', 'wareh', 'a-dow', 'searc']],
    ['n', ['a-dow', 'carri', 'model', 'searc', 'wareh']],
    ['u', ['wareh', 'carri', 'a-dow', 'model', 'searc']],
    ['w', ['wareh', 'carri', 'a-dow', 'searc', 'model']],
    ['h', ['model', 'carri', 'wareh', 'a-dow', 'searc']],
    ['r', ['carri', 'wareh', 'a-dow', 'model', 'searc']],
    ['l', ['carri', 'wareh', 'a-dow', 'model', 'searc']],
  ] as const)('by %s', (key, order) => expect(names(key)).toEqual(order));

  test('every key puts every row somewhere, and reversed the other way round', () => {
    for (const key of SORT_KEYS) expect(names(key, true).toSorted()).toEqual(names(key).toSorted());
    expect(names('n', true)).toEqual(names('n').toReversed());
  });
});

describe('text', () => {
  test('control and format characters of others never reach the terminal', () => {
    expect(clean('a\u001B]0;title\u0007b\r\nc\u202Ed\u200B\uFEFF\u009B31m\u2028')).toBe('a]0;titlebcd31m');
  });

  test('wide and combining characters are counted as they are shown', () => {
    expect(shorten('指名検索', 5)).toBe('指名…');
    expect(widthOf(padded('e\u0301te\u0301', 6))).toBe(6);
    expect(padded('🧑‍🚀x', 2, true)).toBe(' …');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(12), (text, width) => {
        expect(widthOf(padded(clean(text), width))).toBe(width);
        for (const line of wrap(clean(text), width + 1, ' ')) expect(widthOf(line)).toBeLessThanOrEqual(width + 1);
      }),
    );
  });

  test('numbers stay short', () => {
    expect(
      [0, 0.4, 5, 250, 999.7, 1_234, 9_949, 9_951, 61_000, 99_499, 99_501, 5.9e6, 3.5e8, 1e12].map(shortDuration),
    ).toEqual(['0', '0', '5ms', '250ms', '1.0s', '1.2s', '9.9s', '10s', '61s', '99s', '2m', '98m', '97h', '999d']);
    expect([0, 999, 999.6, 1_234, 9_960, 34_000, 999_600, 1.5e6, 2e9].map(shortCount)).toEqual([
      '0',
      '999',
      '1.0k',
      '1.2k',
      '10k',
      '34k',
      '1.0M',
      '1.5M',
      '999M',
    ]);
    expect(usedOf(43 / 60, 0.8)).toBe('43/48/min');
    expect(usedOf(131, 200)).toBe('131/200/s');
    expect(usedOf(2 / 60, 0.00926)).toBe('2/0.56/min');
    expect(usedOf(9.5, undefined)).toBe('9.5/s');
    fc.assert(fc.property(fc.double({ min: 0, noNaN: true }), (ms) => shortDuration(ms).length <= 5));
  });
});
