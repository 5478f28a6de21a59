import { afterEach, describe, expect, test, vi } from 'vitest';
import { gateClient } from '../../../src/adapters/mcp.ts';
import { type Connection, inMemory } from './support/connections.ts';
import { lookUp } from './support/gated-client.ts';
import { rig, said } from './support/rig.ts';
import { lookUpServer } from './support/tools.ts';

let open: Connection | undefined;
afterEach(async () => open?.close());

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
