import { afterEach, describe, expect, test } from 'vitest';
import { watchUngated } from '../../src/adapters/guard.ts';
import type { InventorySnapshot } from '../../src/base/snapshot.ts';
import { run } from '../../src/cli/run.ts';
import { createDispatcher } from '../../src/index.ts';
import { serveStatus } from '../../src/status.ts';
import { answering, closeAll, closeLater, serving } from './support/server.ts';
import { AT, snapshot } from './support/snapshots.ts';

afterEach(closeAll);

async function inventory(args: readonly string[], env: Record<string, string> = {}) {
  let out = '';
  let err = '';
  const code = await run(['inventory', ...args], { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

const SEEN: InventorySnapshot = {
  since: AT - 3_600_000,
  claimed: [
    {
      host: 'api.openai.com',
      downstream: 'openai',
      requests: 121,
      gated: 118,
      ungated: 2,
      allowed: 1,
      retries: 4,
      unattributed: 0,
      firstAt: AT - 3_500_000,
      lastAt: AT - 41_000,
      retriesOff: 'new OpenAI({ maxRetries: 0 })',
    },
  ],
  unclaimed: [
    { host: 'hooks.slack.com', requests: 14, firstAt: AT - 3_400_000, lastAt: AT - 600_000 },
    { host: '127.0.0.1:9200', requests: 3, firstAt: AT - 3_000_000, lastAt: AT - 2_000_000 },
  ],
  others: 5,
};

test('a table of what is claimed, one of what is not, and what to do', async () => {
  const url = await serving(snapshot([], { inventory: SEEN }));
  const { code, out, err } = await inventory([url]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toBe(`penstock inventory  checkout (${url})  since 2026-01-01T02:00:00Z

HOST            DOWNSTREAM  REQUESTS  GATED  UNGATED  ALLOWED  RETRIES  UNKNOWN  LAST
api.openai.com  openai           121    118        2        1        4        0   41s

HOST OF NO DOWNSTREAM  REQUESTS  FIRST  LAST
hooks.slack.com              14    57m   10m
127.0.0.1:9200                3    50m   33m
other hosts                   5

! openai (api.openai.com): 2 passed no gate; penstock guard finds the places in the code
! openai (api.openai.com): a call sent more requests than its permits are for: switch its client's retries off (new OpenAI({ maxRetries: 0 })), or take permits for all of them
`);
});

test('--json: each process for itself', async () => {
  const url = await serving(snapshot([], { inventory: SEEN }));
  const { code, out } = await inventory([url, '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    schema: 1,
    processes: [{ url, name: 'checkout', at: AT, inventory: SEEN }],
    problems: [],
  });
});

test('a real process, with its token, several dispatchers of which one is watched', async () => {
  const target = await answering((_, response) => response.end('{}'));
  const options = { env: {}, alertSinks: [] };
  const one = createDispatcher({ downstreams: { a: { unlimited: true, hosts: [new URL(target).host] } } }, options);
  const two = createDispatcher({ downstreams: {} }, options);
  const watch = watchUngated(one);
  closeLater(() => watch.stop());
  const status = await serveStatus({ one, two }, { port: 0, token: 's3cret' });
  closeLater(status.close);
  await (await fetch(`${target}/path?key=1`)).text();
  const { code, out } = await inventory([String(status.port), '--token-from', 'TOKEN'], { TOKEN: 's3cret' });
  expect(code).toBe(1);
  expect(out).toMatch(/^127\.0\.0\.1:\d+ +a +1 +0 +1 +0 +0 +0 +/m);
  expect(out).not.toContain('path');
  expect(out).toContain(
    `! two (http://127.0.0.1:${status.port}): nobody watches its requests: call watchUngated(dispatcher) of penstock/guard there\n`,
  );
  const wrong = await inventory([String(status.port)]);
  expect(wrong).toMatchObject({ code: 1, err: '' });
  expect(wrong.out).toContain('it wants a token');
});

describe('what is in the way', () => {
  test('nobody there, and a range in which somebody is', async () => {
    const url = await serving(snapshot([], { inventory: { ...SEEN, claimed: [], unclaimed: [], others: 0 } }));
    const port = Number(new URL(url).port);
    const { code, out } = await inventory([`${port}-${port + 1}`]);
    expect(out).toContain('No request went to a host of a downstream.');
    expect(out).toContain('No request went to a host that belongs to no downstream.');
    expect(code).toBe(0);
    await closeAll();
    const nobody = await inventory([String(port)]);
    expect(nobody).toMatchObject({ code: 1 });
    expect(nobody.out).toContain('nothing listens there');
  });

  test('names and hosts are somebody else’s text', async () => {
    const [claimed] = SEEN.claimed;
    const evil = { ...claimed!, host: 'a\u001B[2Jb\n', downstream: 'x\u202Ey' };
    const url = await serving(snapshot([], { name: 'n\u001B[1m', inventory: { ...SEEN, claimed: [evil] } }));
    const { out } = await inventory([url]);
    expect(['\u001B', '\u202E'].filter((one) => out.includes(one))).toEqual([]);
  });

  test.each<[string[], string]>([
    [['--nope'], "Unknown option '--nope'"],
    [['ftp://x'], 'only http and https'],
    [['--token-from', 'NOT_SET'], '--token-from'],
  ])('not understood: %s', async (args, message) => {
    const { code, err } = await inventory(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(err).toContain('Try: penstock inventory --help');
  });

  test('--help', async () => {
    expect(await inventory(['--help'])).toMatchObject({ code: 0, err: '' });
  });
});
