import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Alert, type CallContext, createDispatcher } from '../../src/index.ts';
import { openDispatcher } from '../../src/testing.ts';
import { type Carrier, startCarrier } from './support/carrier.ts';
import { runBlock } from './support/example.ts';
import { blockAt } from './support/pages.ts';

const PAGE = 'docs/where-to-put-it.md';
type Tool = { getDeliveryStatus: (user: string, id: string, ctx: CallContext) => Promise<{ state: string }> };

let carrier: Carrier;
beforeAll(async () => {
  carrier = await startCarrier();
});
afterAll(() => carrier.close());

async function tool(callDownstream: unknown) {
  const given = {
    callDownstream,
    mayRead: (user: string) => user === 'ann',
    copies: new Map(),
    fetch: carrier.fetch,
  };
  const { exports } = await runBlock<Tool>(blockAt(PAGE, 'ts', 'Where to put it'), { given });
  return exports.getDeliveryStatus;
}

describe('Where to put it', () => {
  test('what is refused before the gate takes no permit; neither does what is known', async () => {
    const open = openDispatcher();
    const ask = await tool(open.callDownstream);
    await expect(ask('bob', 'T-1', {})).rejects.toThrow('bob may not read T-1');
    await expect(ask('ann', '../admin', {})).rejects.toThrow('no delivery number');
    expect(open.calls).toEqual([]);
    expect(await ask('ann', 'T-1', { runId: 'r-1' })).toMatchObject({ id: 'T-1', state: 'on its way' });
    expect(await ask('ann', 'T-1', {})).toMatchObject({ state: 'on its way' });
    expect(open.calls).toMatchObject([{ downstream: 'carrier', ctx: { tool: 'get_delivery_status', runId: 'r-1' } }]);
  });

  test('an error that carries its response tells the lane of the 429', async () => {
    const alerts: Alert[] = [];
    const { callDownstream, snapshot } = createDispatcher(
      { downstreams: { carrier: { quota: '60/minute' } } },
      { alertSinks: [], onAlert: (alert) => alerts.push(alert) },
    );
    carrier.answerNext({ status: 429, headers: { 'retry-after': '30' } });
    await expect((await tool(callDownstream))('ann', 'T-9', {})).rejects.toThrow('carrier: 429');
    expect(alerts).toMatchObject([{ name: 'QuotaModelWrong', server: { status: 429, retryAfterMs: 30_000 } }]);
    expect(snapshot().downstreams[0]?.holds).toMatchObject([{ cause: 'retry-after' }]);
  });
});

test('What does not pass the gate: a 429 seen outside holds the lane', async () => {
  const { report, snapshot } = createDispatcher(
    { downstreams: { carrier: { quota: '60/minute' } } },
    { alertSinks: [] },
  );
  const cancelDelivery = async () => new Response(null, { status: 429, headers: { 'retry-after': '5' } });
  const { exports } = await runBlock<{ emergencyStop: (id: string) => Promise<Response> }>(
    blockAt(PAGE, 'ts', 'What does not pass the gate'),
    { given: { report, cancelDelivery } },
  );
  expect((await exports.emergencyStop('T-1')).status).toBe(429);
  expect(snapshot().downstreams[0]?.holds).toMatchObject([{ cause: 'retry-after' }]);
});
