import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type UngatedWatch, watchUngated } from '../../src/adapters/guard.ts';
import { INVENTORY_HELP } from '../../src/cli/inventory.ts';
import { createDispatcher, type DispatcherEvent } from '../../src/index.ts';
import { METRICS } from '../../src/telemetry/names.ts';
import { runBlock } from './support/example.ts';
import { blockAt, read } from './support/pages.ts';

const PAGE = 'docs/ungated.md';
const server = createServer((_, response) => response.end('{}'));
let host = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test('Switch it on, and What it tells of what is meant to pass', async () => {
  const policy = { downstreams: { carrier: { unlimited: true, hosts: [host] } } };
  const dispatcher = createDispatcher(policy, { env: {}, alertSinks: [] });
  const told: DispatcherEvent['type'][] = [];
  dispatcher.subscribe(({ type }) => told.push(type));
  const packages = { 'penstock/guard': { watchUngated } };
  const on = await runBlock<{ watch: UngatedWatch }>(blockAt(PAGE, 'ts', 'Switch it on'), {
    given: { dispatcher },
    packages,
  });
  const { watch } = on.exports;
  const cancelDelivery = async (id: string): Promise<string> => (await fetch(`http://${host}/${id}`)).text();
  const tells = await runBlock<{ emergencyStop: (id: string) => Promise<unknown> }>(
    blockAt(PAGE, 'ts', 'What it tells'),
    { given: { watch, cancelDelivery } },
  );
  await tells.exports.emergencyStop('7');
  expect(told).not.toContain('ungated-request');
  await cancelDelivery('7');
  expect(told).toContain('ungated-request');
  expect(watch.inventory().claimed).toMatchObject([{ allowed: 1, ungated: 1 }]);
  await dispatcher.close();
});

test('the page names the counter, every column and the options of the command', () => {
  const page = read(PAGE);
  expect(page).toContain(`\`${METRICS.unclaimed.name}\``);
  for (const title of ['GATED', 'UNGATED', 'ALLOWED', 'RETRIES', 'UNKNOWN']) expect(page).toContain(title);
  for (const option of ['--token-from', '--json']) {
    expect(page).toContain(option);
    expect(INVENTORY_HELP).toContain(option);
  }
});
