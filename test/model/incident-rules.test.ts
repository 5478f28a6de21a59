import { describe, expect, it } from 'vitest';
import { IncidentRow } from '../../src/model/incident-row.ts';
import { INCIDENT_RULES, ROW_EVENTS, ROW_STATES, type RowEvent, ruleFor } from '../../src/model/incident-rules.ts';

const PLAN = {
  cooldown: { baseMs: 2_000, maxMs: 60_000 },
  maxHoldMs: 86_400_000,
  pauseAboveMs: 300_000,
  workers: 1,
};
const HINTS = { none: undefined, now: 0, later: 90_000 } as const;
/** Counts of incidents at the start of a call: before the last incident, and after it. */
const STARTS = { before: 0, after: 1, unknown: undefined } as const;

/** A row in that state at 10 s, with one incident behind it. */
function rowIn(state: (typeof ROW_STATES)[number], kind: IncidentRow['kind']): IncidentRow {
  const row = new IncidentRow(kind);
  const refuse = (start: number, hintMs: number | undefined, at: number) =>
    row.refused({ start, hintMs }, at, PLAN, 1, Math.random);
  refuse(0, 1_000, 0);
  if (state === 'held' || state === 'cleared') refuse(0, 60_000, 5_000);
  if (state === 'calm' || state === 'cleared') row.succeeded(1, 6_000);
  expect(row.stateAt(10_000)).toBe(state);
  return row;
}

/** Lets it happen at 10 s; returns when to look at the state, and what came of a refusal. */
function happen(row: IncidentRow, event: RowEvent): { lookAt: number; isNew?: boolean; until?: number | undefined } {
  const now = 10_000;
  const [what, origin, hint] = event.split(' ') as [string, keyof typeof STARTS, keyof typeof HINTS];
  if (event === 'hold ends') return { lookAt: row.heldUntil };
  if (event === 'resume all') row.resumed(now);
  if (what === 'success') row.succeeded(STARTS[origin], now);
  if (what !== 'refused') return { lookAt: now };
  const { isNew, hold } = row.refused({ start: STARTS[origin], hintMs: HINTS[hint] }, now, PLAN, 2, Math.random);
  return { lookAt: now, isNew, until: hold?.until };
}

describe('the state table', () => {
  it('has exactly one line for every state and event, but that no hold ends where none is in force', () => {
    for (const from of ROW_STATES) {
      for (const on of ROW_EVENTS) {
        const lines = INCIDENT_RULES.filter((rule) => rule.from.includes(from) && rule.on.includes(on));
        const isMoot = on === 'hold ends' && (from === 'calm' || from === 'asking');
        expect({ from, on, lines: lines.length }).toEqual({ from, on, lines: isMoot ? 0 : 1 });
        expect(ruleFor(from, on)).toBe(lines[0]);
      }
    }
  });

  const cases = ROW_STATES.flatMap((from) => ROW_EVENTS.map((on) => [from, on, ruleFor(from, on)] as const));
  describe.each(['quota', 'overload', 'exhausted'] as const)('is what a row of kind %s does', (kind) => {
    it.each(cases.filter(([, , rule]) => rule !== undefined))('%s, %s', (from, on, rule) => {
      const { does, to } = rule!;
      const row = rowIn(from, kind);
      const [inARow, heldUntil] = [row.inARow, row.heldUntil];
      const { lookAt, isNew, until } = happen(row, on);
      expect(row.stateAt(lookAt)).toBe(to === 'same' ? from : to);
      expect(isNew ?? false).toBe(does.includes('open'));
      expect(row.inARow).toBe(does.includes('clear') ? 0 : inARow + (does.includes('open') ? 1 : 0));
      if (does.includes('extend')) expect(until).toBe(100_000);
      if (!does.includes('hold') && !does.includes('extend')) expect(until).toBeUndefined();
      if (!does.includes('release')) expect(row.heldUntil).toBeGreaterThanOrEqual(heldUntil);
    });
  });
});

describe('a row of incidents', () => {
  const refused = (row: IncidentRow, start: Parameters<IncidentRow['originOf']>[0], hintMs: number, at: number) =>
    row.refused({ start, hintMs }, at, PLAN, 1, Math.random);

  it.each([
    [-1, 'before'],
    [0, 'before'],
    [4_999, 'before'],
    [5_000, 'after'],
    [6_000, 'after'],
  ] as const)('knows a call made elsewhere at %i ms, where it held until 5,000 ms: %s', (at, origin) => {
    const row = new IncidentRow('quota');
    refused(row, 0, 5_000, 0);
    expect(row.originOf({ at })).toBe(origin);
  });

  it('takes a start at the very instant of an answer that held nothing for one before it', () => {
    const row = new IncidentRow('quota');
    refused(row, 0, 0, 1_000);
    expect([row.originOf({ at: 1_000 }), row.originOf({ at: 1_001 })]).toEqual(['before', 'after']);
  });

  it('counts a call made elsewhere after the hold as after it, though a late answer held again', () => {
    const row = new IncidentRow('quota');
    refused(row, 0, 5_000, 0);
    refused(row, 0, 60_000, 10_000);
    expect([4_999, 5_000, 20_000].map((at) => row.originOf({ at }))).toEqual(['before', 'after', 'after']);
  });
});
