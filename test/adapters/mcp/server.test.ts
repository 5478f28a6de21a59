import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { gateServer, gateTool, type ToolExtra } from '../../../src/adapters/mcp.ts';
import { isAdmissionError } from '../../../src/index.ts';
import { openDispatcher } from '../../../src/testing.ts';
import { type Connection, inMemory, listen } from './support/connections.ts';
import { rig, said } from './support/rig.ts';
import { answer, WHO } from './support/tools.ts';

let open: Connection | undefined;
afterEach(async () => open?.close());

const find = (id: string, _meta?: object) => ({ name: 'find', arguments: { id }, ...(_meta && { _meta }) }) as never;
const IDS = { inputSchema: { id: z.string() }, outputSchema: { id: z.string() } };

type Find = (args: { id: string }, extra: ToolExtra) => CallToolResult | Promise<CallToolResult>;

/** A server whose one tool stands behind the gate, and a plain client of it. */
async function gated(callback: Find, options: Parameters<typeof gateTool>[3] = {}) {
  const world = rig({ carrier: { quota: { limit: 2, per: '1m', providerBurst: 2 }, utilization: 1, burst: 2 } });
  const make = () => {
    const server = new McpServer(WHO);
    server.registerTool('find', IDS, gateTool(world.dispatcher, 'carrier', callback, { tool: 'find', ...options }));
    return server;
  };
  open = await inMemory(make);
  return { ...world, client: open.client as Client };
}

describe('a turn of six calls over a quota that admits two', () => {
  test('one refused by its deadline, one aborted, one throttled by the API: what the model reads', async () => {
    const api = await listen((request, response) => {
      const isBusy = request.url === '/busy';
      response.writeHead(isBusy ? 429 : 200, isBusy ? { 'Retry-After': '90' } : {}).end('{}');
    });
    const callback: Find = async ({ id }, { signal }) => {
      const response = await fetch(api.url + id, signal === undefined ? {} : { signal });
      if (!response.ok) throw Object.assign(new Error(`carrier: ${response.status}`), { response });
      return answer(id);
    };
    const { client, clock, dispatcher } = await gated(callback);
    await client.listTools();
    const stop = new AbortController();
    const patient = { timeout: 600_000 };

    const calls = [
      client.callTool(find('T-1')),
      client.callTool(find('busy')),
      client.callTool(find('T-3', { penstock: { deadline: clock.wallNow() + 20_000 } })),
      client.callTool(find('T-4'), undefined, { ...patient, signal: stop.signal }),
      client.callTool(find('T-5'), undefined, patient),
      client.callTool(find('T-6'), undefined, patient),
    ];
    const [first, busy, late, aborted, fifth, sixth] = calls;
    expect(await first).toEqual(answer('T-1'));
    const throttled =
      '{"error":{"code":"RATE_LIMITED","downstream":"carrier","retryable":true,"retry_after_ms":90000,"message":"The downstream throttled the call (status 429): its quota is used up, and the call did no work. Try again in 90 s at the earliest."}}';
    expect(await busy).toEqual({
      isError: true,
      content: [{ type: 'text', text: throttled }],
      _meta: { 'penstock/error': JSON.parse(throttled).error },
    });
    expect(said(await late)).toEqual({
      error: {
        code: 'DEADLINE_EXCEEDED',
        downstream: 'carrier',
        retryable: true,
        retry_after_ms: 10_000,
        message:
          'carrier: refused, the call would have to wait 30 s (limited by quota:2/minute) and its deadline allows 20 s. Come back in 10 s.',
      },
    });
    await vi.waitFor(() => expect(dispatcher.snapshot().downstreams[0]?.queued).toBe(3));
    stop.abort();
    await expect(aborted).rejects.toThrow();
    await vi.waitFor(() => expect(dispatcher.snapshot().downstreams[0]?.queued).toBe(2));
    await clock.advance(90_000);
    expect(await fifth).toEqual(answer('T-5'));
    await clock.advance(120_000);
    expect(await sixth).toEqual(answer('T-6'));
    await api.close();
  });
});

describe('what the callback throws', () => {
  const axiosLike = Object.assign(new Error('Request failed with status code 429'), {
    isAxiosError: true,
    response: { status: 429, headers: { 'retry-after': '7' }, data: {} },
  });

  test('a 429 of its client is passed on with its time, though it has been wrapped', async () => {
    const { client } = await gated(() => {
      throw new Error('carrier is not in the mood', { cause: axiosLike });
    });
    expect(said(await client.callTool(find('x')))).toMatchObject({
      error: { code: 'RATE_LIMITED', downstream: 'carrier', retry_after_ms: 7_000 },
    });
  });

  test('any other error is thrown as it is', async () => {
    const error = new Error('no such delivery');
    const { dispatcher } = rig({ carrier: { quota: '60/minute' } });
    const callback = gateTool(dispatcher, 'carrier', () => Promise.reject(error));
    await expect(callback()).rejects.toBe(error);
  });

  test('a 429 response that it returns is no empty success', async () => {
    const { dispatcher } = rig({ carrier: { quota: '60/minute' } });
    const busy = new Response('', { status: 429, headers: { 'Retry-After': '7' } });
    const callback = gateTool(dispatcher, 'carrier', async () => busy);
    expect(said(await callback())).toMatchObject({ error: { code: 'RATE_LIMITED', retry_after_ms: 7_000 } });
  });

  test('everything is thrown to those who ask for it', async () => {
    const { dispatcher } = rig({ carrier: { quota: '60/minute', maxQueueDepth: 0 } });
    const callback = gateTool(dispatcher, 'carrier', () => Promise.reject(axiosLike), { onRefused: 'throw' });
    await expect(callback()).rejects.toBe(axiosLike);
    const refused = await callback().catch((thrown: unknown) => thrown);
    expect(isAdmissionError(refused)).toBe(true);
  });
});

describe('who calls', () => {
  const told = async (extra: object, more: object = {}) => {
    const double = openDispatcher();
    const callback = gateTool(double, 'carrier', (_extra: ToolExtra) => ({ content: [] }), more);
    await callback({ sendNotification: async () => undefined, ...extra } as ToolExtra);
    return double.calls[0]?.ctx;
  };

  test.each([
    ['the client of a token', { authInfo: { clientId: 'acme' }, sessionId: 's-1' }, 'acme'],
    ['the session', { sessionId: 's-1' }, 's-1'],
    ['the run that the client names', { _meta: { penstock: { runId: 'job7/sub1' } } }, 'job7/sub1'],
    ['runs within a client', { sessionId: 's-1', _meta: { penstock: { runId: 'job7' } } }, 's-1/job7'],
    ['a client that is a URL', { authInfo: { clientId: 'https://a.example/c' } }, 'https:%2F%2Fa.example%2Fc'],
    ['nobody', {}, undefined],
    ['nonsense', { authInfo: { clientId: 7 }, _meta: { penstock: { runId: {} } } }, undefined],
    ['nonsense all round', { authInfo: null, _meta: { penstock: 'x' } }, undefined],
  ])('%s', async (_, extra, runId) => {
    expect((await told(extra))?.runId).toBe(runId);
  });

  test('names neither its class nor its account; the owner of the server does', async () => {
    const extra = { _meta: { penstock: { priority: 'interactive', account: 'other', deadline: 'soon' } } };
    expect(Object.keys((await told(extra)) ?? {}).sort()).not.toContain('priority');
    const ctx = await told(extra, { context: () => ({ account: 'own', priority: 'batch' }) });
    expect(ctx).toMatchObject({ account: 'own', priority: 'batch' });
    expect(ctx).not.toHaveProperty('deadline');
  });

  test('what is left of the time beats an instant of another clock', async () => {
    const ctx = await told({ _meta: { penstock: { deadline: 1_000_000_000_000, remainingMs: 60_000 } } });
    expect(Number(ctx?.deadline)).toBeGreaterThan(Date.now() + 30_000);
  });
});

describe('progress', () => {
  test('is told to a client that asks for it, and grows when the tool begins to count', async () => {
    const callback: Find = async ({ id }, extra) => {
      for (const progress of id === 'counts' ? [0, 1] : []) {
        const params = { progressToken: extra._meta?.progressToken, progress, total: 1 };
        await extra.sendNotification?.({ method: 'notifications/progress', params } as never);
      }
      return answer(id);
    };
    const { client, clock, dispatcher } = await gated(callback);
    await Promise.all([client.callTool(find('a')), client.callTool(find('b'))]);
    const reports: { progress: number; message?: string }[] = [];
    const call = client.callTool(find('counts'), undefined, {
      onprogress: (report) => reports.push(report as never),
      timeout: 120_000,
    });
    await vi.waitFor(() => expect(dispatcher.snapshot().downstreams[0]?.queued).toBe(1));
    await clock.advance(30_000);
    expect(await call).toEqual(answer('counts'));
    expect(reports[0]).toEqual({ progress: 0, message: 'Waiting for carrier: you are number 1, about 30 s' });
    expect(reports.at(-1)).toEqual({ progress: 1, total: 1 });
    const numbers = reports.map(({ progress }) => progress);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('gone');
      },
    ],
    ['rejects', () => Promise.reject(new Error('gone'))],
  ])('a notification that %s harms nobody', async (_, sendNotification) => {
    const { dispatcher, clock } = rig({ carrier: { quota: '60/minute', burst: 1 } });
    const callback = gateTool(dispatcher, 'carrier', (_extra: ToolExtra) => ({ content: [] }));
    const extra = { sendNotification, _meta: { progressToken: 0 } } as never;
    const calls = Promise.all([callback(extra), callback(extra)]);
    await clock.advance(60_000);
    expect(await calls).toEqual([{ content: [] }, { content: [] }]);
  });

  test('nobody is told who has not asked', async () => {
    const sendNotification = vi.fn(async () => undefined);
    const { dispatcher, clock } = rig({ carrier: { quota: '60/minute', burst: 1 } });
    const tool = (options = {}) => gateTool(dispatcher, 'carrier', (_extra: ToolExtra) => ({ content: [] }), options);
    const asked = { _meta: { progressToken: 'p' }, sendNotification };
    const calls = [tool()({ sendNotification }), tool()({ sendNotification }), tool({ progress: false })(asked)];
    await clock.advance(60_000);
    await Promise.all(calls);
    expect(sendNotification).not.toHaveBeenCalled();
  });
});

describe('the signal that the callback gets', () => {
  test('fires at the deadline of the client, and with the reason of its abort', async () => {
    const seen: unknown[] = [];
    const { dispatcher, clock } = rig({ carrier: { quota: '60/minute' } });
    const callback = gateTool(dispatcher, 'carrier', async (extra: ToolExtra) => {
      await new Promise((resolve) => extra.signal?.addEventListener('abort', resolve));
      seen.push(extra.signal?.reason);
      return { content: [] };
    });
    const extra = { signal: new AbortController().signal, _meta: { penstock: { remainingMs: 5_000 } } };
    const late = callback(extra as never);
    await clock.advance(5_000);
    expect(said(await late)).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED', retryable: false } });
    const stop = new AbortController();
    const aborted = callback({ signal: stop.signal });
    await clock.advance(1_000);
    stop.abort('gone');
    await expect(aborted).rejects.toBe('gone');
    expect(seen).toEqual([expect.anything(), 'gone']);
  });
});

describe('a whole server', () => {
  test('each tool passes the gate by its own name, in the old way and in the new, replaced and renamed too', async () => {
    const { dispatcher, events } = rig({ carrier: { quota: '6000/minute', burst: 10 }, mail: { unlimited: true } });
    const raw = new McpServer(WHO);
    const server = gateServer(dispatcher, raw, { downstreams: { '*': 'carrier', send: 'mail', ping: false } });
    const done = async (): Promise<CallToolResult> => ({ content: [{ type: 'text', text: 'done' }] });
    const found = server.registerTool('find', { inputSchema: { id: z.string() } }, async ({ id }) => answer(id));
    server.tool('old', done);
    server.tool('older', 'text', { id: z.string() }, async ({ id }) => answer(id));
    server.registerTool('send', {}, done);
    server.registerTool('ping', {}, done);
    expect(server).toBeInstanceOf(McpServer);
    open = await inMemory(() => server);
    const { client } = open;
    const gone = async (name: string, args?: Record<string, unknown>) => {
      const from = events.length;
      await client.callTool({ name, arguments: args });
      return events.slice(from).flatMap((event) => (event.type === 'settled' ? [[event.downstream, event.tool]] : []));
    };
    expect(await gone('find', { id: 'x' })).toEqual([['carrier', 'find']]);
    expect(await gone('old')).toEqual([['carrier', 'old']]);
    expect(await gone('older', { id: 'x' })).toEqual([['carrier', 'older']]);
    expect(await gone('send')).toEqual([['mail', 'send']]);
    expect(await gone('ping')).toEqual([]);
    found.update({ name: 'search', callback: async () => answer('new') });
    expect(await gone('search', { id: 'x' })).toEqual([['carrier', 'search']]);
  });

  test('a tool without a downstream is an error when it is registered, an unknown downstream is one at once', () => {
    const { dispatcher } = rig({ carrier: { quota: '60/minute' } });
    const server = gateServer(dispatcher, new McpServer(WHO), { downstreams: { find: 'carrier' } });
    expect(() => server.registerTool('fund', {}, async () => ({ content: [] }))).toThrow('"fund": no downstream');
    server.registerTool('find', {}, async () => ({ content: [] }));
    expect(() => gateServer(dispatcher, new McpServer(WHO), { downstreams: { a: 'x', b: 'y' } })).toThrow('2 problems');
  });
});

test('bad options name the field, what was found, what was expected', () => {
  const { dispatcher } = rig({ carrier: { quota: '60/minute' } });
  const callback = async () => ({ content: [] });
  expect(() => gateTool(dispatcher, 'carrier', callback, { onRefused: 'no' as never })).toThrow(
    'gateTool: onRefused: expected "return" or "throw", found "no"',
  );
  expect(() => gateTool(dispatcher, 'carier', callback)).toThrow('carrier');
  expect(() => gateTool(dispatcher, 'carrier', undefined as never)).toThrow('gateTool: callback: expected a function');
  expect(() => gateServer(dispatcher, {} as never, { downstream: 'carrier' })).toThrow('registerTool');
});
