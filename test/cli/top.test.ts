import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { run } from '../../src/cli/run.ts';
import { readAddress } from '../../src/cli/top-address.ts';
import { createDispatcher } from '../../src/index.ts';
import { serveStatus } from '../../src/status.ts';
import { answering, closeAll, closeLater, serving } from './support/server.ts';
import { badNight, lane, snapshot } from './support/snapshots.ts';

afterEach(closeAll);

async function top(args: readonly string[], env: Record<string, string> = {}) {
  let out = '';
  let err = '';
  const code = await run(['top', ...args], { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

async function freePort(): Promise<number> {
  const server = createPlainServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('--once', () => {
  test('prints aligned lines without escape codes, and what is the matter below', async () => {
    const { code, out, err } = await top(['--once', await serving(badNight())]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).not.toContain('\u001B');
    const lines = out.split('\n');
    expect(lines[0]).toMatch(/^penstock top {2}checkout {2}policy 0123456789abcdef +\d\d:\d\d:\d\d$/);
    const at = lines[2]?.indexOf('QUEUE') ?? -1;
    const queues = lines.slice(3, 8).map((line) => line.slice(at, at + 5).trim());
    // The last name has wide characters: its columns stand where they are seen, not where they are counted.
    expect(queues.slice(0, 3)).toEqual(['12', '0', '8.7k']);
    expect(out).toMatch(/^! carrier: nothing starts until /m);
    expect(lines.filter((line) => line.endsWith(' '))).toEqual([]);
  });

  test('without a terminal it is what happens anyway', async () => {
    const { code, out } = await top([await serving(badNight())]);
    expect(code).toBe(0);
    expect(out).toContain('DOWNSTREAM');
  });

  test('a real dispatcher, by its port alone, its token from a variable', async () => {
    const dispatcher = createDispatcher(
      { downstreams: { carrier: { quota: '60/minute' } } },
      { env: {}, name: 'agent' },
    );
    await dispatcher.callDownstream('carrier', () => 1);
    const status = await serveStatus(dispatcher, { port: 0, token: 's3cret' });
    closeLater(status.close);
    const { code, out } = await top([String(status.port), '--once', '--token-from', 'TOKEN'], { TOKEN: 's3cret' });
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}carrier +1\/48\/min +0 /m);
    const wrong = await top([String(status.port), '--once', '--token-from', 'TOKEN'], { TOKEN: 'other' });
    expect(wrong).toMatchObject({ code: 1, err: '' });
    expect(wrong.out).toContain('the token is not the right one');
    expect(wrong.out).not.toContain('other');
    const none = await top([String(status.port), '--once']);
    expect(none.out).toContain('it wants a token: --token-from VARIABLE, or file:<path>');
  });

  test('several processes in one table, the missing ones of a range left out', async () => {
    const first = await serving(badNight());
    const second = await serving(snapshot([lane('carrier', { queued: 5 })]));
    const { code, out } = await top(['--once', first, second, first]);
    expect(code).toBe(0);
    expect(out).toContain('2 of 2 processes');
    expect(out).toMatch(/^! carrier +2 +73\/96\/min +17 /m);
    const port = await freePort();
    expect((await top(['--once', `${port}-${port + 1}`])).code).toBe(1);
  });
});

describe('--json', () => {
  test('prints one document with the rows and who answered', async () => {
    const port = await freePort();
    const { code, out } = await top(['--json', await serving(badNight()), `http://127.0.0.1:${port}`]);
    expect(code).toBe(1);
    const told = JSON.parse(out);
    expect(told).toMatchObject({
      schema: 1,
      names: ['checkout'],
      policies: [{ hash: '0123456789abcdef', processes: 1 }],
      alerts: { pending: 2, dropped: 1 },
      processes: [
        { ageMs: expect.any(Number) },
        { url: `http://127.0.0.1:${port}`, problem: /nothing listens there/ },
      ].map((one) => ('problem' in one ? { ...one, problem: expect.stringMatching(one.problem) } : one)),
    });
    const carrier = told.downstreams.find((one: { downstream: string }) => one.downstream === 'carrier');
    expect(carrier).toMatchObject({ queued: 12, hold: { cause: 'retry-after' }, throttled: 2, waitP95Ms: 9_812 });
  });

  test('with an interval one line each, until the reader has enough', async () => {
    const url = await serving(badNight());
    const lines: string[] = [];
    const enough = new Error('enough');
    const out = (text: string) => {
      lines.push(text);
      if (lines.length === 3) throw enough;
    };
    const running = run(['top', '--json', '--interval', '100ms', url], { env: {}, out, err: () => undefined });
    await expect(running).rejects.toBe(enough);
    for (const line of lines) expect(JSON.parse(line).downstreams).toHaveLength(5);
    expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true);
  });
});

describe('what is in the way is said in words', () => {
  test.each([
    [404, '{}', 'something answers, but has no such snapshot: another port, or another name?'],
    [403, 'x', 'it does not answer to that host name: allow it there (allowedHosts), or use its address.'],
    [500, 'x', 'the process could not make its snapshot.'],
    [502, 'x', 'it answers 502: no Penstock status server?'],
    [302, '', 'it redirects (302): no Penstock status server.'],
    [200, '<html>', 'something answers, but not with a Penstock snapshot.'],
    [200, '{"schema":1}', 'something answers, but not with a Penstock snapshot.'],
    [200, '[]', 'something answers, but not with a Penstock snapshot.'],
    [200, '{"schema":1,"at":1,"downstreams":[null]}', 'something answers, but not with a Penstock snapshot.'],
    [200, '{"schema":2,"at":1}', 'it speaks schema 2, this penstock reads 1: use the penstock of that program.'],
  ])('%i %j', async (status, body, words) => {
    const url = await answering((_, response) => {
      response.writeHead(status, status === 302 ? { location: 'http://127.0.0.1:1/' } : {}).end(body);
    });
    const { code, out } = await top(['--once', url]);
    expect(code).toBe(1);
    expect(out.replaceAll('\n  ', ' ')).toContain(`! ${url}: ${words}\n`);
  });

  test('nobody there, no such host, another protocol', async () => {
    const port = await freePort();
    expect((await top(['--once', `${port}`])).out).toContain('nothing listens there: does the process run');
    const plain = createPlainServer((socket) => socket.end('220 mail.example ESMTP\r\n'));
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    closeLater(() => plain.close());
    expect((await top(['--once', String((plain.address() as AddressInfo).port)])).out).toMatch(
      /it (hung up|cannot be reached)/,
    );
  });

  test.each([
    [['--interval', '1ms'], '--interval: expected 100ms to 1h, such as 1s; found "1ms"'],
    [['--interval', 'soon'], '--interval: expected 100ms to 1h'],
    [['--once', '--interval', '1s'], '--once or --interval, not both'],
    [['--once', '--json'], '--once or --json, not both'],
    [['--onc'], "Unknown option '--onc'"],
    [['ftp://127.0.0.1'], 'only http and https'],
    [['http://user:pass@127.0.0.1:9465'], 'a token does not belong into an address: --token-from'],
    [['http://'], '"http://" is no address'],
    [['--token-from', 'MISSING'], '--token-from: the variable MISSING is not set'],
    [['99999'], 'port: expected 0 to 65535'],
  ])('%j', async (args, words) => {
    const { code, out, err } = await top(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(words);
    expect(err).toContain('Try: penstock top --help');
    expect(err).not.toContain('user:pass');
  });

  test('help', async () => {
    expect((await top(['--help'])).out).toContain('--token-from <where>');
  });
});

test('addresses', () => {
  const urls = (text: string) => readAddress(text).map(({ url }) => url);
  expect(urls('9465')).toEqual(['http://127.0.0.1:9465/snapshot']);
  expect(urls('9465-9467')).toEqual([9465, 9466, 9467].map((port) => `http://127.0.0.1:${port}/snapshot`));
  expect(urls('[::1]:9465')).toEqual(['http://[::1]:9465/snapshot']);
  expect(urls('worker-7:9465-9466')).toEqual(['http://worker-7:9465/snapshot', 'http://worker-7:9466/snapshot']);
  expect(urls('http://127.0.0.1:9465/')).toEqual(['http://127.0.0.1:9465/snapshot']);
  expect(urls('http://127.0.0.1:9465/snapshot')).toEqual(['http://127.0.0.1:9465/snapshot']);
  expect(urls('http://127.0.0.1:9465/snapshot/a%20b')).toEqual(['http://127.0.0.1:9465/snapshot/a%20b']);
  expect(urls('https://status.internal/checkout/')).toEqual(['https://status.internal/checkout/snapshot']);
  expect(urls('http://127.0.0.1:9465-9466')).toHaveLength(2);
});
