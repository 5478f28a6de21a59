import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, ErrorCode, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { gateClient } from '../../../src/adapters/mcp.ts';
import type { CallEvent } from '../../../src/base/events.ts';
import { createDispatcher, isAdmissionError, type PolicyInput } from '../../../src/index.ts';
import { openDispatcher, refusingDispatcher } from '../../../src/testing.ts';
import { type Connection, inMemory } from './support/connections.ts';
import { rig, said, TWO_A_MINUTE } from './support/rig.ts';
import { answer, lookUpServer, WHO } from './support/tools.ts';

let open: Connection | undefined;
afterEach(async () => open?.close());

const lookUp = (id: string, _meta?: Record<string, unknown>) => ({
  name: 'look_up',
  arguments: { id },
  ...(_meta && { _meta }),
});

async function gated(options: Partial<Parameters<typeof gateClient>[2]> = {}, server = lookUpServer()) {
  const world = rig();
  open = await inMemory(() => server);
  const client = gateClient(world.dispatcher, open.client, { downstream: 'notes', ...(options as object) });
  /** Takes the two that start at once. */
  const fill = () => Promise.all([client.callTool(lookUp('a')), client.callTool(lookUp('b'))]);
  return { ...world, client, fill, raw: open.client, server };
}

describe('the client that is returned', () => {
  test('is the client in all else: getters, handlers, capabilities, its class', async () => {
    const { client, raw, server } = await gated();
    expect(client).toBeInstanceOf(Client);
    expect(client.getServerVersion()).toMatchObject(WHO);
    expect(await client.ping()).toEqual({});
    expect(client.transport).toBe(raw.transport);
    const changed = vi.fn();
    client.setNotificationHandler(ToolListChangedNotificationSchema, changed);
    await server.server.sendToolListChanged();
    await vi.waitFor(() => expect(changed).toHaveBeenCalledOnce());
    const closed = vi.fn();
    client.onclose = closed;
    expect(raw.onclose).toBe(closed);
    expect(client.onclose).toBe(closed);
    await client.close();
    expect(closed).toHaveBeenCalled();
  });

  test('leaves the other as it was: two runs share a client, each with a context of its own', async () => {
    const { dispatcher, raw, events, clock } = await gated();
    const [one, two] = ['r-1', 'r-2'].map((runId) =>
      gateClient(dispatcher.with({ runId }), raw, { downstream: 'notes' }),
    );
    await Promise.all([one!.callTool(lookUp('a')), two!.callTool(lookUp('b')), raw.callTool(lookUp('c'))]);
    await clock.advance(0);
    const settled = events.filter(({ type }) => type === 'settled') as CallEvent[];
    expect(settled.map(({ runId, tool }) => [runId, tool])).toEqual([
      ['r-1', 'look_up'],
      ['r-2', 'look_up'],
    ]);
  });

  test('runs methods on the object itself, so that its private fields are there, though it be frozen', async () => {
    class Own {
      readonly #answers = ['one'];
      get size(): number {
        return this.#answers.length;
      }
      async callTool({ name }: { name: string }) {
        return { name, answers: this.#answers };
      }
      add(answer: string): this {
        this.#answers.push(answer);
        return this;
      }
    }
    const client = gateClient(rig().dispatcher, Object.freeze(new Own()), { downstream: 'notes' });
    client.add('two');
    expect(client.size).toBe(2);
    expect(await client.callTool({ name: 'x' })).toEqual({ name: 'x', answers: ['one', 'two'] });
    expect(client.add).toBe(client.add);
  });

  test('lets nobody around it by a plain request or a stream', async () => {
    const { client, fill, clock } = await gated();
    await fill();
    const params = lookUp('c');
    const plain = await client.request({ method: 'tools/call', params }, CallToolResultSchema, { timeout: 5_000 });
    expect(said(plain)).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED' } });
    const { tasks } = client.experimental;
    const streams = [
      tasks.callToolStream(params, CallToolResultSchema, { timeout: 5_000 }),
      tasks.requestStream({ method: 'tools/call', params }, CallToolResultSchema, { timeout: 5_000 }),
    ];
    for (const stream of streams) {
      const messages = [];
      for await (const message of stream) messages.push(message);
      expect(messages).toEqual([{ type: 'result', result: expect.objectContaining({ isError: true }) }]);
    }
    await clock.advance(30_000);
    const messages = [];
    for await (const message of tasks.callToolStream(params)) messages.push(message);
    expect(messages).toEqual([{ type: 'result', result: answer('c') }]);
    expect(
      await client.request({ method: 'tools/list' }, {
        safeParse: (data: unknown) => ({ success: true, data }),
      } as never),
    ).toHaveProperty('tools');
  });
});

describe('a refusal', () => {
  test('is returned though the client knows the schema of the output, and thrown for those who ask', async () => {
    const { client, fill, dispatcher, raw } = await gated();
    await client.listTools();
    await fill();
    expect(await client.callTool(lookUp('c'), undefined, { timeout: 5_000 })).not.toHaveProperty('structuredContent');
    const loud = gateClient(dispatcher, raw, { downstream: 'notes', onRefused: 'throw' });
    const error = await loud.callTool(lookUp('c'), undefined, { timeout: 5_000 }).catch((thrown: unknown) => thrown);
    expect(isAdmissionError(error)).toBe(true);
  });

  test('of every code is a result, in a double too', async () => {
    open = await inMemory(lookUpServer);
    const paused = gateClient(refusingDispatcher('RATE_LIMITED', { retryAfterMs: 600_000 }), open.client, {
      downstream: 'notes',
    });
    expect(said(await paused.callTool(lookUp('a')))).toMatchObject({
      error: { code: 'RATE_LIMITED', retry_after_ms: 600_000 },
    });
    const double = openDispatcher();
    const easy = gateClient(double, open.client, { downstream: 'notes' });
    expect(await easy.callTool(lookUp('a'))).toEqual(answer('a'));
    expect(double.calls).toMatchObject([{ downstream: 'notes', ctx: { tool: 'look_up' } }]);
  });
});

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
    open = await inMemory(lookUpServer);
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

describe('what a call says of itself', () => {
  test('is read from _meta.penstock and goes on to the server, unless asked not to', async () => {
    const { client, dispatcher, raw, events } = await gated();
    const meta = { penstock: { runId: 'job7', priority: 'batch' }, other: 1 };
    const { text } = ((await client.callTool(lookUp('meta', meta))).content as { text: string }[])[0]!;
    expect(JSON.parse(text)).toMatchObject({ runId: 'job7', priority: 'batch', remainingMs: 60_000 });
    expect(events[0]).toMatchObject({ runId: 'job7', priority: 'batch', tool: 'look_up' });
    const silent = gateClient(dispatcher, raw, { downstream: 'notes', tellServer: false });
    expect((await silent.callTool(lookUp('meta', meta))).content).toEqual([{ type: 'text', text: '"nothing"' }]);
  });

  test('and from context, which knows better; the earliest deadline counts', async () => {
    const seen: unknown[] = [];
    const world = await gated({
      context: (call) => {
        seen.push(call);
        return { runId: 'r-9', deadline: world.clock.wallNow() + 5_000, account: undefined };
      },
    });
    const { client } = world;
    const { text } = (
      (await client.callTool(lookUp('meta', { penstock: { runId: 'r-1' } }))).content as { text: string }[]
    )[0]!;
    expect(JSON.parse(text)).toEqual({ runId: 'r-9', deadline: world.clock.wallNow() + 5_000, remainingMs: 5_000 });
    expect(seen).toEqual([{ tool: 'look_up', args: { id: 'meta' }, meta: { penstock: { runId: 'r-1' } } }]);
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

test('200 calls at once come through in order, and none is left over', async () => {
  const { dispatcher, clock } = rig({ notes: { quota: '1000/second', maxConcurrent: 7 } });
  open = await inMemory(lookUpServer);
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

describe('a map from tool to downstream', () => {
  const twoTools = () => {
    const server = lookUpServer();
    server.registerTool('ping', {}, async () => ({ content: [] }));
    return server;
  };

  test('is checked against the tools of the server, all at once, before anything is changed', async () => {
    open = await inMemory(twoTools);
    const { dispatcher } = rig();
    const wrong = gateClient(dispatcher, open.client, { downstreams: { look_upp: 'notess' } });
    await expect(wrong).rejects.toThrow('gateClient: 4 problems in the map from tool to downstream');
  });

  test('sends each tool its way', async () => {
    open = await inMemory(twoTools);
    const { dispatcher, events } = rig();
    const client = await gateClient(dispatcher, open.client, {
      downstreams: { look_up: { downstream: 'notes', priority: 'batch' }, ping: false },
    });
    await client.callTool({ name: 'ping' });
    expect(events).toEqual([]);
    await client.callTool(lookUp('a'));
    expect(events.at(-1)).toMatchObject({ tool: 'look_up', priority: 'batch', downstream: 'notes' });
  });

  test('covers tools that come later: they are found when they are listed, and pass no gate unmapped', async () => {
    const server = twoTools();
    open = await inMemory(() => server);
    const { dispatcher } = rig();
    const client = await gateClient(dispatcher, open.client, { downstreams: { look_up: 'notes', ping: false } });
    const ran = vi.fn();
    server.registerTool('delete_all', {}, async () => {
      ran();
      return { content: [] };
    });
    await expect(client.listTools()).rejects.toThrow('"delete_all": no downstream');
    expect(said(await client.callTool({ name: 'delete_all' }))).toMatchObject({ error: { code: 'INVALID_CALL' } });
    expect(ran).not.toHaveBeenCalled();
  });

  test('reads all pages of a long list', async () => {
    const pages: Record<string, { tools: { name: string }[]; nextCursor?: string }> = {
      first: { tools: [{ name: 'a' }], nextCursor: 'second' },
      second: { tools: [{ name: 'b' }] },
    };
    const client = {
      callTool: async () => ({}),
      listTools: async (params?: { cursor?: string }) => pages[params?.cursor ?? 'first']!,
    };
    const { dispatcher } = rig();
    await expect(gateClient(dispatcher, client, { downstreams: { a: 'notes' } })).rejects.toThrow('"b": no downstream');
    pages.second!.nextCursor = 'second';
    await expect(gateClient(dispatcher, client, { downstreams: { '*': 'notes' } })).rejects.toThrow('1000 pages');
  });
});

test('bad options name the field, what was found, what was expected', async () => {
  const client = { callTool: async () => ({}) };
  const { dispatcher } = rig();
  const message = (options: object, given: unknown = client, gate: unknown = dispatcher) => {
    try {
      gateClient(gate as never, given as never, options as never);
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(message({ downstream: 'notes', onRefused: 'maybe' })).toBe(
    'gateClient: onRefused: expected "return" or "throw", found "maybe"',
  );
  expect(message({})).toBe(
    'gateClient: downstream, downstreams: expected one of them: a downstream for all tools, or a map by tool, found neither',
  );
  expect(message({ downstreem: 'notes' })).toBe(
    'gateClient: downstreem: expected downstream, found an option that is not known',
  );
  expect(message({ downstream: 'nots' })).toContain('notes');
  expect(message({ downstream: 'notes' }, {})).toBe(
    'gateClient: client: expected an object with a method callTool, found an object',
  );
  expect(message({ downstream: 'notes' }, client, {})).toBe(
    'gateClient: dispatcher: expected what createDispatcher returns, found an object',
  );
});
