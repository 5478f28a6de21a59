import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { COLUMNS, SORT_KEYS } from '../../src/cli/top-columns.ts';
import { createDispatcher } from '../../src/index.ts';
import { DEFAULT_STATUS_PORT, type StatusOptions, type StatusServer, serveStatus } from '../../src/status.ts';
import { runBlock } from './support/example.ts';
import { blockAt, read } from './support/pages.ts';

const PAGE = 'docs/top.md';
const dispatcher = createDispatcher({ downstreams: { carrier: { quota: '60/minute' } } }, { env: {} });

/** The package, on a port that is free. */
function statusPackage(served: StatusServer[], env: Record<string, string> = {}) {
  const started = async (options: StatusOptions = {}) => {
    const server = await serveStatus(dispatcher, { ...options, port: 0 });
    served.push(server);
    return server;
  };
  const fromEnv = async () => (env.PENSTOCK_STATUS === 'on' ? started() : undefined);
  return { 'penstock/status': { serveStatus: () => started(), serveStatusFromEnv: fromEnv } };
}

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { agent: false }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

describe('Switch it on', () => {
  test('the program says where to look', async () => {
    const served: StatusServer[] = [];
    const packages = statusPackage(served);
    const { printed } = await runBlock(blockAt(PAGE, 'ts', 'Switch it on'), { given: { dispatcher }, packages });
    const [url] = /http:\S+/.exec(printed[0] ?? '') ?? [];
    expect(await statusOf(`${url}/snapshot`)).toBe(200);
    await served[0]?.close();
  });

  test('Switch it on #2', async () => {
    const served: StatusServer[] = [];
    const run = (env: Record<string, string>) =>
      runBlock(blockAt(PAGE, 'ts', 'Switch it on #2'), { given: { dispatcher }, packages: statusPackage(served, env) });
    await run({});
    expect(served).toHaveLength(0);
    await run({ PENSTOCK_STATUS: 'on' });
    expect(served).toHaveLength(1);
    await served[0]?.close();
  });
});

test('the page names the port, every column and every key', () => {
  const page = read(PAGE);
  expect(page).toContain(`port ${DEFAULT_STATUS_PORT}`);
  for (const { title, id } of COLUMNS) {
    if (!['name', 'processes', 'limited'].includes(id)) expect(page).toContain(`${title.trim()}`);
  }
  for (const key of SORT_KEYS) expect(page).toContain(`\`${key}\``);
});
