import { describe, expect, test } from 'vitest';
import { INCIDENT_RULES, ROW_STATES } from '../../src/model/incident-rules.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { exhausted, SAYS } from '../dispatch/support/refusals.ts';
import { quotaOf } from '../support/configs.ts';
import { startsOf } from '../support/made.ts';
import { Rig, type RigOptions } from '../support/rig.ts';
import { read } from './support/pages.ts';

const SECOND = 1_000;
const MINUTE = 60_000;

interface Table {
  readonly heading: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function tablesOf(page: string): Table[] {
  const tables: Table[] = [];
  let heading = '';
  for (const block of read(page).split(/\n\n+/)) {
    heading = /^#+ (.+)$/m.exec(block)?.[1] ?? heading;
    if (!block.startsWith('|')) continue;
    const [head = [], , ...rows] = block.split('\n').map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
    tables.push({ heading, head, rows });
  }
  return tables;
}

const TABLES = tablesOf('docs/cooldown.md');
const tablesWith = (column: string): Table[] => TABLES.filter(({ head }) => head.includes(column));
const ms = (text: string): number => Number(/^([\d.]+) s$/.exec(text)?.[1] ?? Number.NaN) * SECOND;

/** What `fn` returns for words such as "429 with Retry-After: 60". */
function answerFor(words: string): unknown {
  const [, what = '', hint, reset] =
    /^(success|429|529|503|exhausted)(?: with Retry-After: (\d+))?(?:, reset in (\d+ s))?$/.exec(words) ?? [];
  if (what === 'success') return 'fine';
  if (what === 'exhausted') return exhausted(reset === undefined ? {} : { resetMs: ms(reset) });
  if (what === '') throw new Error(`what is "${words}"?`);
  return new Response(null, { status: Number(what), headers: hint === undefined ? {} : { 'retry-after': hint } });
}

/** Plays a table in one lane: what was seen, in the words of the table. */
async function played({ rows }: Table, more: DownstreamPolicyInput): Promise<string[][]> {
  const rig = new Rig(quotaOf(1_000_000, MINUTE, { whilePaused: 'wait', classify: 'says', ...more }), SAYS);
  const late = rows.filter(([, words]) => words?.startsWith('late ')).map(() => door(rig));
  await rig.settle();
  const seen: string[][] = [];
  for (const [at = '', words = ''] of rows) {
    await rig.to(ms(at));
    if (words.startsWith('report: ')) rig.dispatcher.report('api', reported(words.slice(8)));
    else if (words.startsWith('late ')) late.shift()?.(answerFor(words.slice(5)));
    else rig.call({ fn: () => answerFor(words) });
    await rig.settle();
    const { inARow, holds } = rig.snap();
    const until = Math.max(0, ...holds.map(({ leftMs }) => rig.t + leftMs));
    seen.push([at, words, String(inARow), until === 0 ? '-' : `${until / SECOND} s`]);
  }
  await rig.by(60 * MINUTE);
  await rig.rest();
  return seen;
}

function reported(words: string): unknown {
  return words === 'success' ? { status: 200 } : answerFor(words);
}

/** A call in flight, and what ends it. */
function door(rig: Rig): (value: unknown) => void {
  let open!: (value: unknown) => void;
  const promise = new Promise((resolve) => {
    open = resolve;
  });
  rig.call({ fn: () => promise });
  return open;
}

describe('every table with a clock', () => {
  const LADDER = { cooldown: { ladder: ['2m', '5m', '15m'] } };

  test.each(tablesWith('held until').map((table, n) => [table.heading, n, table] as const))(
    '%s (%i)',
    async (heading, _, table) => {
      expect(table.head).toEqual(['at', 'what comes', 'in a row', 'held until']);
      expect(await played(table, heading === 'A ladder' ? LADDER : {})).toEqual(table.rows);
    },
  );

  test('there are as many as the page has examples', () => {
    const headings = read('docs/cooldown.md')
      .match(/^### .+$/gm)
      ?.map((line) => line.slice(4));
    expect([...new Set(tablesWith('held until').map(({ heading }) => heading))]).toEqual(headings);
  });

  test('the ladder is the one that is written', () => {
    expect(read('docs/cooldown.md')).toContain('`cooldown: { ladder: [2m, 5m, 15m] }`');
  });
});

test('The pace after a hold', async () => {
  const rig = new Rig(quotaOf(60, MINUTE));
  rig.dispatcher.report('api', { status: 429 });
  const waiters = rig.callMany(200);
  await rig.to(2 * SECOND);
  rig.zero();
  await rig.to(2 * MINUTE);
  const starts = startsOf(waiters);
  const [table] = tablesWith('a start every');
  for (const [when = '', every = ''] of table!.rows) {
    const [from = 0, to = 0] = when.split(' to ').map(ms);
    const inside = starts.filter((at) => at >= from && at <= to);
    expect(inside[0]).toBeCloseTo(from, 6);
    expect(inside.slice(1).map((at, i) => at - inside[i]!)).toEqual(inside.slice(1).map(() => ms(every)));
  }
  rig.dispatcher.unregister('api');
  await rig.rest();
});

test('Several workers', async () => {
  for (const [said = '', workers, earliest = '', latest = ''] of tablesWith('workers')[0]!.rows) {
    for (const [draw, until] of [
      [0, earliest],
      [1, latest],
    ] as const) {
      const options: RigOptions = { random: () => draw };
      const rig = new Rig(quotaOf(1_000, MINUTE, { workers: Number(workers), whilePaused: 'wait' }), options);
      rig.dispatcher.report('api', { status: 429, retryAfterMs: ms(said) });
      const call = rig.call();
      await rig.to(2 * 600 * SECOND);
      expect(call.startedMs).toBe(ms(until));
      await rig.rest();
    }
  }
});

test('the state table says what the rules say', () => {
  const [table] = tablesWith('of a call from');
  const HINTS: Record<string, string> = { none: 'none', '0': 'now', 'above 0': 'later' };
  const lines = table!.rows.flatMap(([from = '', what = '', origins = '', hints = '', , to]) => {
    const event = what === 'any other outcome' ? 'other' : what;
    const events = origins === '' ? [event] : origins.split(', ').map((origin) => `${event} ${origin}`);
    const all =
      hints === '' ? events : events.flatMap((one) => hints.split(', ').map((hint) => `${one} ${HINTS[hint]}`));
    const states = from === 'any' ? ROW_STATES : from.split(', ');
    return states.flatMap((state) => all.map((on) => `${state} + ${on} = ${to === 'as it was' ? state : to}`));
  });
  const rules = INCIDENT_RULES.flatMap(({ from, on, to }) =>
    from.flatMap((state) => on.map((event) => `${state} + ${event} = ${to === 'same' ? state : to}`)),
  );
  expect(lines.sort()).toEqual(rules.sort());
});
