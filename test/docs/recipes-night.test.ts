import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Alert, createDispatcher, type Dispatcher, type DispatcherOptions } from '../../src/index.ts';
import { FakeDownstream, ManualClock } from '../../src/testing.ts';
import { runBlock } from './support/example.ts';
import { blockAt, read } from './support/pages.ts';

const PAGE = 'docs/recipes.md';

describe('Levers for the night', () => {
  let admin: Server | undefined;
  afterEach(() => admin?.close());

  async function opened() {
    const dispatcher = createDispatcher({ downstreams: { carrier: { quota: '60/minute' } } }, { alertSinks: [] });
    const given = { dispatcher, port: 0 };
    const { exports } = await runBlock<{ admin: Server }>(blockAt(PAGE, 'ts', 'Levers for the night'), { given });
    admin = exports.admin;
    if (!admin.listening) await once(admin, 'listening');
    const { port, address } = admin.address() as AddressInfo;
    const ask = async (path: string, init?: RequestInit) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
      return { status: response.status, body: (await response.json()) as Body };
    };
    return { dispatcher, address, ask };
  }
  type Body = { message?: string; downstreams?: { isPaused: boolean; pauseReason?: string; holds: object[] }[] };
  const POST = { method: 'POST' };

  test('looks, holds and lets go, as its commands say', async () => {
    const { dispatcher, address, ask } = await opened();
    expect(address).toBe('127.0.0.1');
    const commands = [...read(PAGE).matchAll(/^curl .*9466(\S*?)'?$/gm)].map(([, path]) => path ?? '');
    expect(commands).toHaveLength(6);
    const [look = '', pause = '', resume = '', resumeAll = '', cancel = '', mode = ''] = commands;
    expect((await ask(look)).body.downstreams).toMatchObject([{ isPaused: false, holds: [] }]);
    const paused = await ask(pause, POST);
    expect(paused.body.downstreams).toMatchObject([{ isPaused: true, pauseReason: 'maintenance' }]);
    await expect(dispatcher.callDownstream('carrier', () => 1)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    dispatcher.report('carrier', { status: 429, retryAfterMs: 900_000 });
    expect((await ask(resume, POST)).body.downstreams).toMatchObject([{ holds: [{ cause: 'retry-after' }] }]);
    expect((await ask(resumeAll, POST)).body.downstreams).toMatchObject([{ isPaused: false, holds: [] }]);
    expect(await dispatcher.callDownstream('carrier', () => 1)).toBe(1);
    dispatcher.pause('carrier', { for: '1m' });
    const waiter = dispatcher.callDownstream('carrier', () => 1, { runId: 'job7' });
    const ended = expect(waiter).rejects.toMatchObject({ code: 'CANCELLED', reason: 'runaway' });
    expect((await ask(cancel, POST)).status).toBe(200);
    await ended;
    expect((await ask(mode, POST)).body.downstreams).toMatchObject([{ mode: 'observe' }]);
    expect((await ask('/mode/carrier?to=on', POST)).status).toBe(400);
  });

  test('says what is wrong with what it is asked, and moves nothing', async () => {
    const { ask, dispatcher } = await opened();
    expect(await ask('/pause/carier', POST)).toMatchObject({
      status: 400,
      body: { message: /did you mean "carrier"/ },
    });
    expect(await ask('/pause/carrier?for=soon', POST)).toMatchObject({
      status: 400,
      body: { message: /for: expected/ },
    });
    expect((await ask('/pause/%E0', POST)).status).toBe(400);
    expect((await ask('/pause/carrier')).status).toBe(404);
    expect((await ask('/stop', POST)).status).toBe(404);
    const fromPage = { ...POST, headers: { origin: 'http://pages.example' } };
    expect((await ask('/pause/carrier', fromPage)).status).toBe(403);
    expect(dispatcher.snapshot().downstreams[0]?.holds).toEqual([]);
  });
});

test('Alerts where people read them: one when it fires, one when it is over; onAlert hears of the first only', async () => {
  const clock = new ManualClock();
  const [texts, heard]: [string[], Alert[]] = [[], []];
  let told = (): void => undefined;
  const post = async (_url: string, { body }: { body: string }) => {
    texts.push((JSON.parse(body) as { text: string }).text);
    told();
    return new Response();
  };
  const nextText = () =>
    new Promise<void>((resolve) => {
      told = resolve;
    });
  const packages = {
    penstock: {
      createDispatcher: (policy: never, options: DispatcherOptions) =>
        createDispatcher(policy, { clock, env: {}, onAlert: (alert) => heard.push(alert), ...options }),
      stderrSink: () => ({ name: 'stderr', deliver: () => undefined }),
    },
  };
  const policy = { downstreams: { carrier: { quota: '60/minute', owner: 'logistics' } } };
  const { exports } = await runBlock<{ dispatcher: Dispatcher<'carrier'> }>(
    blockAt(PAGE, 'ts', 'Alerts where people read them'),
    { given: { policy, fetch: post }, packages },
  );
  const server = new FakeDownstream({ clock, limit: 60, windowMs: 60_000 });
  server.answerNext(1, 429, { 'retry-after': '30' });
  const first = nextText();
  await exports.dispatcher.callDownstream('carrier', () => server.call());
  await first;
  const last = nextText();
  await clock.advance(299_000);
  expect(texts).toHaveLength(1);
  await clock.advance(1_500);
  await last;
  expect(texts).toEqual([
    expect.stringMatching(/^WARNING carrier \(logistics\): Penstock /),
    expect.stringMatching(/^RESOLVED carrier \(logistics\): /),
  ]);
  expect(heard.map(({ status }) => status)).toEqual(['firing']);
});
