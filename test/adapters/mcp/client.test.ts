import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test, vi } from 'vitest';
import { gateClient } from '../../../src/adapters/mcp.ts';
import type { CallEvent } from '../../../src/base/events.ts';
import { isAdmissionError } from '../../../src/index.ts';
import { openDispatcher, refusingDispatcher } from '../../../src/testing.ts';
import { connected, gatedClient as gated, lookUp } from './support/gated-client.ts';
import { rig, said } from './support/rig.ts';
import { answer, WHO } from './support/tools.ts';

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

  test('tells the server the run that its dispatcher names, unless the call names one', async () => {
    const { dispatcher, raw } = await gated();
    const ofRun = gateClient(dispatcher.with({ runId: 'r-1' }), raw, { downstream: 'notes' });
    expect(said(await ofRun.callTool(lookUp('meta')))).toMatchObject({ runId: 'r-1' });
    expect(said(await ofRun.callTool(lookUp('meta', { penstock: { runId: 'r-2' } })))).toMatchObject({ runId: 'r-2' });
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
    const open = await connected();
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

describe('what a call says of itself', () => {
  test.each([
    ['a promise', async () => ({ runId: 'r' })],
    ['"r-1"', () => 'r-1'],
  ])('a context that is %s is refused: nobody would notice that it says nothing', async (found, context) => {
    const { client } = await gated({ context: context as never });
    expect(said(await client.callTool(lookUp('a')))).toMatchObject({
      error: { code: 'INVALID_CALL', message: `context: expected an object at once, found ${found}` },
    });
  });

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
