import { describe, expect, it } from 'vitest';
import { ROW_EVENTS, ROW_STATES, type RowEvent, type RowState, ruleFor } from '../../src/model/incident-rules.ts';
import { returned429, thrown429 } from '../support/answers.ts';
import { bare } from '../support/configs.ts';
import type { Made } from '../support/made.ts';
import { Rig } from '../support/rig.ts';

const MINUTE = 60_000;
const HINTS: Record<string, string | undefined> = { none: undefined, now: '0', later: '90' };

/** A call that ends when the test says so. */
interface Open {
  readonly made: Made;
  readonly end: (how: () => unknown) => Promise<void>;
}

function open(rig: Rig): Open {
  let settle!: (how: () => unknown) => void;
  const door = new Promise<() => unknown>((resolve) => {
    settle = resolve;
  });
  const made = rig.call({ fn: () => door.then((how) => how()) });
  const end = async (how: () => unknown) => {
    settle(how);
    await rig.settle();
  };
  return { made, end };
}

function fail(error: Error): never {
  throw error;
}

function stateOf(rig: Rig): RowState {
  const { inARow, holds } = rig.snap();
  if (holds.length > 0) return inARow > 0 ? 'held' : 'cleared';
  return inARow > 0 ? 'asking' : 'calm';
}

/** A lane whose row is in that state, one incident behind it, with a call in flight from before its hold and one from after it. */
async function laneIn(state: RowState) {
  const rig = new Rig(bare({ cooldown: { base: '10s', max: '60s' }, warm: { for: 0 }, pauseAbove: '1h' }));
  const [before, late] = [open(rig), open(rig)];
  await rig.settle();
  rig.dispatcher.report('api', { status: 429 });
  await rig.to(10_000);
  const [after, early] = [open(rig), open(rig)];
  await rig.to(11_000);
  const isHeldAgain = state === 'held' || state === 'cleared';
  await late.end(() => returned429(isHeldAgain ? '60' : '0'));
  const isOver = state === 'calm' || state === 'cleared';
  await early.end(isOver ? () => 'fine' : () => fail(new Error('no news')));
  await rig.to(12_000);
  expect(stateOf(rig)).toBe(state);
  return { rig, before, after };
}

async function happen(event: RowEvent, { rig, before, after }: Awaited<ReturnType<typeof laneIn>>, isThrown: boolean) {
  const [what, origin, hint = ''] = event.split(' ');
  const refusal = () => (isThrown ? fail(thrown429(HINTS[hint])) : returned429(HINTS[hint]));
  const how = what === 'refused' ? refusal : what === 'other' ? () => fail(new Error('broken')) : () => 'fine';
  if (event === 'hold ends') await rig.to(71_000);
  else if (event === 'resume all') rig.dispatcher.resume('api', { all: true });
  else if (origin === 'unknown')
    rig.dispatcher.report('api', what === 'refused' ? returned429(HINTS[hint]) : { status: 200 });
  else await (origin === 'after' ? after : before).end(how);
  await rig.settle();
}

const cases = ROW_STATES.flatMap((from) => ROW_EVENTS.map((on) => [from, on] as const));

describe.each([true, false])('a real lane does what the state table says (thrown: %s)', (isThrown) => {
  it.each(cases.filter(([from, on]) => ruleFor(from, on) !== undefined))('%s, %s', async (from, on) => {
    const { does, to } = ruleFor(from, on)!;
    const scene = await laneIn(from);
    const { rig } = scene;
    const [was, alerts] = [rig.snap(), rig.alerts.length];
    const [last] = rig.alerts.slice(-1);
    await happen(on, scene, isThrown);
    const is = rig.snap();

    expect(stateOf(rig)).toBe(to === 'same' ? from : to);
    expect(is.inARow).toBe(does.includes('clear') ? 0 : was.inARow + (does.includes('open') ? 1 : 0));
    const told = rig.alerts.slice(alerts);
    expect(told).toHaveLength(on.startsWith('refused') ? 1 : 0);
    for (const { incident } of told) {
      expect(incident.id === last?.incident.id).toBe(!does.includes('open'));
      expect(incident.inARow).toBe(is.inARow);
    }
    if (does.includes('extend')) expect(is.heldUntil).toBe(rig.clock.wallNow() + 90_000);
    if (does.length === 0 && on !== 'hold ends') expect(is.heldUntil).toBe(was.heldUntil);
    if (!does.includes('release') && was.heldUntil !== undefined && on !== 'hold ends') {
      expect(is.heldUntil).toBeGreaterThanOrEqual(was.heldUntil);
    }

    await scene.before.end(() => undefined);
    await scene.after.end(() => undefined);
    await rig.by(10 * MINUTE);
    await rig.rest();
  });
});
