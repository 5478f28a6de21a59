import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test, vi } from 'vitest';
import { gateClient } from '../../../src/adapters/mcp.ts';
import { createDispatcher, type PolicyInput } from '../../../src/index.ts';
import { connected, gatedClient as gated, lookUp } from './support/gated-client.ts';
import { rig, said, TWO_A_MINUTE } from './support/rig.ts';
import { answer } from './support/tools.ts';

describe('the timeout of a request is the whole time that its caller waits', () => {
  test('what is left of it goes to the request, and its server is told', async () => {
    const { client, fill, clock } = await gated();
    await fill();
    const call = client.callTool(lookUp('meta'), undefined, { timeout: 50_000 });
    await clock.advance(30_000);
    const { text } = ((await call).content as { text: string }[])[0]!;
    expect(JSON.parse(text)).toEqual({ deadline: clock.wallNow() + 20_000, remainingMs: 20_000 });
  });

  test('60 s where none is given', async () => {
    const { client, fill } = await gated();
    await fill();
    const calls = Array.from({ length: 3 }, () => client.callTool(lookUp('c')));
    const refused = await Promise.race(calls);
    expect(said(refused)).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED' } });
    await client.close();
    await Promise.allSettled(calls);
  });

  test('the request gets what is left of it, in the terms that it was given in', async () => {
    const { dispatcher, clock } = rig();
    const asked: unknown[] = [];
    const client = gateClient(
      dispatcher,
      { callTool: async (_params: object, _schema?: object, options?: object) => void asked.push(options) },
      { downstream: 'notes' },
    );
    const onprogress = () => undefined;
    const timed = (options: object) => client.callTool(lookUp('x'), undefined, options);
    await Promise.all([timed({}), timed({ timeout: 7 })]);
    const later = [
      timed({ timeout: 40_000, resetTimeoutOnProgress: true }),
      timed({ timeout: 5_000, resetTimeoutOnProgress: true, onprogress }),
      timed({ timeout: 5_000, resetTimeoutOnProgress: true, maxTotalTimeout: 92_000, onprogress }),
    ];
    await clock.advance(90_000);
    await Promise.all(later);
    const signal = expect.any(AbortSignal) as AbortSignal;
    expect(asked).toEqual([
      { timeout: 60_000, signal },
      { timeout: 7, signal },
      { timeout: 10_000, resetTimeoutOnProgress: true, signal },
      { timeout: 5_000, resetTimeoutOnProgress: true, onprogress: expect.any(Function), signal },
      {
        timeout: 2_000,
        maxTotalTimeout: 2_000,
        resetTimeoutOnProgress: true,
        onprogress: expect.any(Function),
        signal,
      },
    ]);
  });

  test('a request that takes too long fails as it does without a gate', async () => {
    const open = await connected();
    const dispatcher = createDispatcher<PolicyInput>(
      { downstreams: { notes: TWO_A_MINUTE } },
      { alertSinks: [], env: {} },
    );
    const ended: unknown[] = [];
    dispatcher.subscribe((event) => event.type === 'settled' && ended.push(event.outcome));
    const client = gateClient(dispatcher, open.client, { downstream: 'notes' });
    const error = await client.callTool(lookUp('never'), undefined, { timeout: 30 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: ErrorCode.RequestTimeout, message: 'MCP error -32001: Request timed out' });
    // By the request's own clock, or by the lane's: whichever looks first.
    expect(['failed', 'cancelled']).toEqual(expect.arrayContaining(ended));
    await dispatcher.close();
  });
});

test('a client that does not keep its own time is ended by the lane, with the same error', async () => {
  const { dispatcher, clock } = rig();
  const never = {
    callTool: (_params: object, _schema?: object, _options?: object) => new Promise<never>(() => undefined),
  };
  const client = gateClient(dispatcher, never, { downstream: 'notes' });
  const call = client.callTool({ name: 'x' }, undefined, { timeout: 9_000 });
  const ended = expect(call).rejects.toMatchObject({ code: ErrorCode.RequestTimeout, data: { timeout: 9_000 } });
  await clock.advance(9_000);
  await ended;
  const own = gateClient(dispatcher, never, {
    downstream: 'notes',
    context: () => ({ deadline: clock.wallNow() + 5_000 }),
  });
  const late = own.callTool({ name: 'x' });
  await clock.advance(5_000);
  expect(said(await late)).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED' } });
});

describe('an abort', () => {
  test('rejects with the reason of the signal, waiting or running, and is no failure of the downstream', async () => {
    const { client, events, dispatcher, clock } = await gated();
    const stop = new AbortController();
    const reason = { why: 'any value' };
    const running = client.callTool(lookUp('never'), undefined, { signal: stop.signal });
    await client.callTool(lookUp('a'));
    const waiting = client.callTool(lookUp('b'), undefined, { signal: stop.signal });
    await clock.advance(0);
    stop.abort(reason);
    await expect(running).rejects.toBe(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(client.callTool(lookUp('b'), undefined, { signal: stop.signal })).rejects.toBe(reason);
    await clock.advance(0);
    expect(events.filter(({ type }) => type === 'aborted')).toHaveLength(3);
    expect(dispatcher.snapshot().downstreams[0]?.totals.settled).toMatchObject({ failed: 0, cancelled: 1 });
  });
});

describe('progress', () => {
  test('tells the place while it waits, and grows when the tool begins to count', async () => {
    const { client, fill, clock } = await gated();
    await fill();
    const told: unknown[] = [];
    const ahead = client.callTool(lookUp('c'));
    const call = client.callTool(lookUp('counts'), undefined, {
      timeout: 100_000,
      onprogress: (report) => told.push(report),
    });
    await clock.advance(30_000);
    await ahead;
    await clock.advance(30_000);
    expect(await call).toEqual(answer('counts'));
    expect(told[0]).toEqual({ progress: 0, message: 'Waiting for notes: you are number 2, about 60 s' });
    expect(told.findLast((report) => 'message' in (report as object))).toMatchObject({
      message: expect.stringMatching(/^Waiting for notes: you are number 1, about \d+ s$/),
    });
    expect(told.slice(-2)).toEqual([
      { progress: 1, total: 2 },
      { progress: 2, total: 2 },
    ]);
    const numbers = told.map((report) => (report as { progress: number }).progress);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });

  test('is passed on untouched where nothing was waited for, and a listener that throws harms nobody', async () => {
    const { client, clock } = await gated();
    const told: unknown[] = [];
    await client.callTool(lookUp('counts'), undefined, { onprogress: (report) => told.push(report) });
    expect(told).toEqual([0, 1, 2].map((progress) => ({ progress, total: 2 })));
    await client.callTool(lookUp('a'));
    const call = client.callTool(lookUp('b'), undefined, {
      onprogress: () => {
        throw new Error('no');
      },
    });
    await clock.advance(30_000);
    expect(await call).toEqual(answer('b'));
  });
});

test('close rejects at once whoever waits, as the SDK does those that run', async () => {
  const { client, fill, clock, dispatcher } = await gated();
  await fill();
  const calls = Array.from({ length: 3 }, () => client.callTool(lookUp('c'), undefined, { timeout: 600_000 }));
  await clock.advance(0);
  await client.close();
  for (const { status, ...rest } of await Promise.allSettled(calls)) {
    expect(status).toBe('rejected');
    expect(rest).toMatchObject({
      reason: { code: ErrorCode.ConnectionClosed, message: 'MCP error -32000: Connection closed' },
    });
  }
  expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ queued: 0, running: 0 });
});

test.each([
  ['the server goes away', (world: Awaited<ReturnType<typeof gated>>) => world.server.close()],
  ['somebody closes the client that was given', (world: Awaited<ReturnType<typeof gated>>) => world.raw.close()],
])('when %s, whoever waits is rejected too, and the listener that was there hears of it', async (_, end) => {
  const world = await gated();
  const { client, raw, fill, clock } = world;
  const closed = vi.fn();
  raw.onclose = closed;
  await fill();
  expect(raw.onclose).toBe(closed);
  const call = client.callTool(lookUp('c'), undefined, { timeout: 600_000 });
  const ended = expect(call).rejects.toMatchObject({ code: ErrorCode.ConnectionClosed });
  await clock.advance(0);
  await end(world);
  await ended;
  expect(closed).toHaveBeenCalled();
  expect(raw.onclose).toBe(closed);
});

test('two gates of one client leave its listener as it was, in whatever order they stop waiting', async () => {
  const { client, raw, dispatcher, fill, clock } = await gated();
  const other = gateClient(dispatcher, raw, { downstream: 'notes' });
  const closed = vi.fn();
  raw.onclose = closed;
  await fill();
  for (let i = 0; i < 3; i += 1) {
    const calls = [client, other].map((one) => one.callTool(lookUp('c'), undefined, { timeout: 600_000 }));
    await clock.advance(60_000);
    await Promise.all(calls);
    expect(raw.onclose).toBe(closed);
  }
  const waits = client.callTool(lookUp('c'), undefined, { timeout: 600_000 });
  const gone = expect(waits).rejects.toMatchObject({ code: ErrorCode.ConnectionClosed });
  const ours = raw.onclose;
  const late = vi.fn(() => ours?.());
  raw.onclose = late;
  const after = expect(other.callTool(lookUp('d'))).rejects.toMatchObject({ code: ErrorCode.ConnectionClosed });
  await raw.close();
  await Promise.all([gone, after]);
  expect(late).toHaveBeenCalled();
});

test('200 calls at once come through in order, and none is left over', async () => {
  const { dispatcher, clock } = rig({ notes: { quota: '1000/second', maxConcurrent: 7 } });
  const open = await connected();
  const client = gateClient(dispatcher, open.client, { downstream: 'notes' });
  const calls = Array.from({ length: 200 }, (_, i) => client.callTool(lookUp(`T-${i}`)));
  let isDone = false;
  const all = Promise.all(calls).finally(() => {
    isDone = true;
  });
  while (!isDone) await clock.advance(10);
  expect(await all).toEqual(Array.from({ length: 200 }, (_, i) => answer(`T-${i}`)));
  expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ queued: 0, running: 0 });
});
