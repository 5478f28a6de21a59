import { describe, expect, test } from 'vitest';
import {
  type Classifier,
  createDispatcher,
  type DispatcherOptions,
  jsonBody,
  type PolicyInput,
} from '../../src/index.ts';
import { ManualClock, openDispatcher } from '../../src/testing.ts';
import { runBlock } from './support/example.ts';
import { blockAt } from './support/pages.ts';

const block = (title: string) => blockAt('docs/recipes.md', 'ts', title);

async function recipe<Exports>(title: string, given: Record<string, unknown>, clock = new ManualClock()) {
  return (await runBlock<Exports>(block(title), { given, clock })).exports;
}

function rig(policy: PolicyInput['downstreams'][string] = { quota: '60/minute' }) {
  const clock = new ManualClock();
  const dispatcher = createDispatcher<PolicyInput>(
    { downstreams: { carrier: policy, model: policy } },
    { clock, alertSinks: [], env: {} },
  );
  const laneOf = (name: string) => dispatcher.snapshot().downstreams.find(({ downstream }) => downstream === name);
  return { clock, dispatcher, laneOf, ...dispatcher };
}

const readStatus = async (id: string) => `${id} is on its way`;

test('Forty tools: each call says which tool it is, what it may cost in time, and what its arguments tell', async () => {
  const clock = new ManualClock();
  const open = openDispatcher({ clock });
  const cancelDelivery = async (id: string) => `${id} cancelled`;
  type Tools = {
    tools: {
      get_delivery_status: (id: string) => Promise<string>;
      cancel_delivery: (id: string, isWatched: boolean) => Promise<string>;
    };
  };
  const { tools } = await recipe<Tools>('Forty tools', { wrap: open.wrap, readStatus, cancelDelivery }, clock);
  expect(await tools.get_delivery_status('T-1')).toBe('T-1 is on its way');
  expect(await tools.cancel_delivery('T-2', true)).toBe('T-2 cancelled');
  const deadline = clock.wallNow() + 20_000;
  expect(open.calls).toEqual([
    { downstream: 'carrier', ctx: { tool: 'get_delivery_status', deadline } },
    { downstream: 'carrier', ctx: { tool: 'cancel_delivery', deadline, priority: 'interactive' } },
  ]);
});

test("One run, one context: its signal takes all its waiting calls out of the lane, and nobody else's", async () => {
  const { clock, dispatcher, laneOf } = rig();
  type Run = { startRun: (runId: string, signal: AbortSignal) => { status: (id: string) => Promise<string> } };
  const { startRun } = await recipe<Run>('One run, one context', { dispatcher, readStatus }, clock);
  const [one, other] = [new AbortController(), new AbortController()];
  const first = startRun('r-1', one.signal);
  const second = startRun('r-2', other.signal);
  const calls = Array.from({ length: 10 }, () => first.status('T-1'));
  const others = Array.from({ length: 5 }, () => second.status('T-2'));
  await clock.advance(0);
  expect(laneOf('carrier')?.queued).toBe(9);
  one.abort();
  const ended = await Promise.allSettled(calls);
  expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(4);
  await clock.advance(60_000);
  expect(await Promise.all(others)).toHaveLength(5);
});

describe('A stream', () => {
  type Recipe = { events: (id: string) => AsyncGenerator<Uint8Array> };

  test('its place is kept until the reader has had enough', async () => {
    const { clock, acquire, laneOf } = rig({ maxConcurrent: 1 });
    const { events } = await recipe<Recipe>('A stream', { acquire, askCarrier: async () => new Response('a') }, clock);
    for await (const part of events('T-1')) {
      expect(new TextDecoder().decode(part)).toBe('a');
      expect(laneOf('carrier')?.running).toBe(1);
      break;
    }
    expect(laneOf('carrier')?.running).toBe(0);
  });

  test('a 429 and an error reach the lane', async () => {
    const { clock, acquire, laneOf } = rig();
    const answers = [new Response(null, { status: 429, headers: { 'retry-after': '7' } })];
    const askCarrier = async () => {
      const answer = answers.shift();
      if (answer === undefined) throw new Error('reset');
      return answer;
    };
    const { events } = await recipe<Recipe>('A stream', { acquire, askCarrier }, clock);
    expect(await events('T-1').next()).toMatchObject({ done: true });
    expect(laneOf('carrier')?.holds).toMatchObject([{ cause: 'retry-after', leftMs: 7_000 }]);
    await clock.advance(7_000);
    await expect(events('T-1').next()).rejects.toThrow('reset');
    expect(laneOf('carrier')?.totals.settled).toMatchObject({ throttled: 1, failed: 1 });
  });

  test('a lease without a deadline ends after ten minutes', async () => {
    const { clock, acquire } = rig();
    const { signal } = await acquire('carrier');
    await clock.advance(599_999);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
  });
});

test('A cost that is known afterwards: what was not used comes back, what was too little is a debt', async () => {
  const { clock, callDownstream, laneOf } = rig({ quota: '200000 tokens/minute', defaultCost: { tokens: 2_000 } });
  let tokens = 300;
  const askModel = async () => ({ text: 'yes', tokens });
  const title = 'A cost that is known afterwards';
  const { ask } = await recipe<{ ask: (prompt: string) => Promise<string> }>(
    title,
    { callDownstream, askModel },
    clock,
  );
  const permits = () => laneOf('model')?.quotas[0]?.permits;
  expect(permits()).toBe(20_000);
  expect(await ask('x'.repeat(4_000))).toBe('yes');
  expect(permits()).toBe(19_700);
  tokens = 30_000;
  await ask('again');
  expect(permits()).toBe(-10_300);
});

test('An audit log: one line for each call, whatever its end', async () => {
  const { clock, callDownstream, subscribe } = rig();
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const { stop } = await recipe<{ stop: () => void }>('An audit log', { subscribe, log }, clock);
  for (let n = 0; n < 6; n += 1)
    await callDownstream('carrier', () => n, { tool: 'get_delivery_status', runId: 'r-1' });
  await callDownstream('carrier', () => 6, { deadline: clock.wallNow() + 100 }).catch(() => undefined);
  const aborting = new AbortController();
  const call = callDownstream('carrier', () => 7, { signal: aborting.signal }).catch(() => undefined);
  await clock.advance(0);
  aborting.abort();
  await call;
  expect(lines).toHaveLength(8);
  expect(lines[0]).toBe('2026-01-01T00:00:00.000Z carrier get_delivery_status r-1 0 success');
  expect(lines.slice(6).map((line) => line.split(' ').slice(1).join(' '))).toEqual([
    'carrier - - 0 DEADLINE_EXCEEDED',
    'carrier - - 0 aborted',
  ]);
  stop();
  await clock.advance(60_000);
  await callDownstream('carrier', () => 8);
  expect(lines).toHaveLength(8);
});

test('A service that says it otherwise: the lane is held as the body asks', async () => {
  const clock = new ManualClock();
  const packages = {
    penstock: {
      jsonBody,
      createDispatcher: (policy: PolicyInput, options: DispatcherOptions & { classify: Record<string, Classifier> }) =>
        createDispatcher(policy, { clock, alertSinks: [], env: {}, ...options }),
    },
  };
  const title = 'A service that says it otherwise';
  const { exports } = await runBlock<ReturnType<typeof rig>>(block(title), { packages });
  const { callDownstream, snapshot } = exports;
  /** The lane paces, so time has to pass. */
  const ask = async (name: string, fn: () => Promise<unknown>) => {
    const asked = callDownstream(name, fn).catch((error: Error) => error.message);
    await clock.advance(2_000);
    return asked;
  };
  for (const [name, no] of [
    ['shop', { ok: false, error: 'slow_down', retry_after: 4 }],
    ['depot', { busy: true, waitMs: 4_000 }],
  ] as const) {
    const lane = () => snapshot().downstreams.find(({ downstream }) => downstream === name);
    await ask(name, async () => ({ ok: true, parcels: [1] }));
    expect(await ask(name, () => Promise.reject(new Error('reset')))).toBe('reset');
    await ask(name, async () => ({ ok: false, error: 'not_found' }));
    expect(lane()?.holds).toEqual([]);
    expect(await ask(name, async () => no)).toEqual(no);
    expect(lane()?.holds).toMatchObject([{ cause: 'retry-after', leftMs: 2_000 }]);
    expect(lane()?.totals.settled).toMatchObject({ success: 2, failed: 1, throttled: 1 });
  }
});
