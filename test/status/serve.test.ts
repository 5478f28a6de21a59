import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type StatusOptions, type StatusSources, serveStatusFromEnv } from '../../src/status.ts';
import { ManualClock } from '../../src/testing.ts';
import { ask, closeAll, closeLater, dispatcher, serve } from './support/client.ts';

afterEach(closeAll);

describe('what it answers', () => {
  test('the snapshot, as the dispatcher gives it', async () => {
    const one = dispatcher('checkout');
    const { url } = await serve(one);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const { status, headers, body } = await ask(`${url}/snapshot`);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'content-length': String(body.length),
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    const told = JSON.parse(body) as Record<string, unknown>;
    expect(told).toMatchObject({ schema: 1, name: 'checkout', isClosed: false });
    expect(told).toEqual({ ...one.snapshot(), at: told.at });
  });

  test('HEAD is GET without the text; a query changes nothing', async () => {
    const { url } = await serve(dispatcher());
    const head = await ask(`${url}/snapshot`, { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(Number(head.headers['content-length'])).toBeGreaterThan(100);
    expect((await ask(`${url}/snapshot?pretty`)).status).toBe(200);
    expect((await ask(url)).body).toContain('penstock top');
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('%s is refused, whatever the path', async (method) => {
    const { url } = await serve(dispatcher());
    for (const path of ['/snapshot', '/', '/nothing']) {
      expect(await ask(url + path, { method })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
    }
  });

  test.each(['/snapshots', '/snapshot/', '/snapshot/carrier', '/metrics', '//', '/%', '/..%2fsnapshot'])(
    'there is nothing at %s',
    async (path) => {
      const { url } = await serve(dispatcher());
      expect((await ask(url + path)).status).toBe(404);
    },
  );

  test('several dispatchers, each under its name, however it is spelt', async () => {
    const { url } = await serve({ checkout: dispatcher('other'), 'a/b ü': dispatcher(), snapshot: dispatcher() });
    const all = JSON.parse((await ask(`${url}/snapshot`)).body);
    expect(all).toMatchObject({
      schema: 1,
      dispatchers: [{ name: 'checkout' }, { name: 'a/b ü' }, { name: 'snapshot' }],
    });
    for (const name of ['checkout', 'a/b ü', 'snapshot']) {
      expect(JSON.parse((await ask(`${url}/snapshot/${encodeURIComponent(name)}`)).body)).toMatchObject({ name });
    }
    expect((await ask(`${url}/snapshot/constructor`)).status).toBe(404);
    expect((await ask(url)).body).toContain('GET /snapshot/a%2Fb%20%C3%BC\n');
  });

  test('a snapshot that cannot be made is an answer without detail, and no harm', async () => {
    const secret = 'sk-very-secret';
    const snapshot = vi.fn(() => {
      throw new Error(secret);
    });
    const { url } = await serve({ snapshot });
    const { status, body } = await ask(`${url}/snapshot`);
    expect(status).toBe(500);
    expect(body).not.toContain(secret);
    expect((await ask(`${url}/snapshot`)).status).toBe(500);
  });

  test('polled hard, it makes a snapshot five times a second at most', async () => {
    const clock = new ManualClock();
    const one = dispatcher();
    const snapshot = vi.fn(one.snapshot);
    const { url } = await serve({ snapshot }, { clock });
    for (let n = 0; n < 20; n++) await ask(`${url}/snapshot`);
    expect(snapshot).toHaveBeenCalledTimes(1);
    await clock.advance(200);
    await ask(`${url}/snapshot`);
    expect(snapshot).toHaveBeenCalledTimes(2);
  });
});

describe('who may read', () => {
  test('a token, compared in full; what is not right is told no more than that', async () => {
    const { url } = await serve(dispatcher(), { token: 's3cret-Token' });
    const wrong = [undefined, 'Bearer', 'Bearer ', 'Bearer s3cret-Toke', 'Bearer s3cret-Token2', 'Basic s3cret-Token'];
    for (const authorization of wrong) {
      for (const path of ['/snapshot', '/', '/nothing']) {
        const answer = await ask(url + path, { headers: authorization === undefined ? {} : { authorization } });
        expect(answer, `${authorization} ${path}`).toMatchObject({
          status: 401,
          body: 'A token is needed.\n',
          headers: { 'www-authenticate': 'Bearer' },
        });
      }
    }
    for (const authorization of ['Bearer s3cret-Token', 'bearer s3cret-Token']) {
      expect((await ask(`${url}/snapshot`, { headers: { authorization } })).status).toBe(200);
    }
    expect((await ask(`${url}/snapshot?token=s3cret-Token`)).status).toBe(401);
  });

  test('the token comes from a variable or a file, and never into a message', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'penstock-'));
    try {
      const file = join(folder, 'token');
      writeFileSync(file, 'from-file\n');
      writeFileSync(join(folder, 'empty'), '\n');
      const env = { STATUS_TOKEN: 'from-env', BLANK: ' ', ODD: 'two words' };
      for (const [tokenFrom, token] of [
        ['STATUS_TOKEN', 'from-env'],
        [`file:${file}`, 'from-file'],
        [`file://${file}`, 'from-file'],
      ] as const) {
        const { url } = await serve(dispatcher(), { tokenFrom, env });
        expect((await ask(`${url}/snapshot`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
        expect((await ask(`${url}/snapshot`)).status).toBe(401);
      }
      for (const [tokenFrom, message] of [
        ['MISSING', 'tokenFrom: the variable MISSING is not set'],
        ['BLANK', 'the variable BLANK: the token is empty'],
        ['ODD', 'the variable ODD: the token has blanks or characters beyond ASCII'],
        [`file:${folder}/none`, `tokenFrom: ${folder}/none: there is no such file`],
        [`file:${folder}/empty`, `the file ${folder}/empty: the token is empty`],
        ['sk-123.456', 'tokenFrom: expected the name of a variable that is set, or file:<path>, not the token itself'],
      ] as const) {
        await expect(serve(dispatcher(), { tokenFrom, env })).rejects.toThrow(message);
      }
      await expect(serve(dispatcher(), { tokenFrom: 'STATUS_TOKEN', token: 'x', env })).rejects.toThrow('not both');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('an address that other machines reach needs a token', async () => {
    for (const host of ['0.0.0.0', '::', '10.0.0.7', 'worker-7.example']) {
      await expect(serve(dispatcher(), { host })).rejects.toThrow(/can be reached from other machines: give a token/);
    }
    const { url } = await serve(dispatcher(), { host: '0.0.0.0', token: 'x' });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect((await ask(`${url}/snapshot`, { headers: { authorization: 'Bearer x' } })).status).toBe(200);
  });

  test('a page whose name was made to point here reads nothing (DNS rebinding)', async () => {
    const { url, port } = await serve(dispatcher(), { allowedHosts: ['status.internal'] });
    const judged = async (host: string) => (await ask(`${url}/snapshot`, { headers: { host } })).status;
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      '127.0.0.1.nip.example',
      'a b',
    ]) {
      expect(await judged(host), host).toBe(403);
    }
    const good = [`localhost:${port}`, 'LOCALHOST', 'app.localhost', '127.0.0.1', '[::1]:80', 'status.internal:1'];
    for (const host of good) expect(await judged(host), host).toBe(200);
  });

  test('an option that does not exist is an error: a misspelt token must not leave the door open', async () => {
    await expect(serve(dispatcher(), { tokn: 'x' } as StatusOptions)).rejects.toThrow('unknown option "tokn"');
  });
});

describe('where it listens', () => {
  test('a port that is taken is a clear error; of a range the first that is free is taken', async () => {
    const { port } = await serve(dispatcher());
    await expect(serve(dispatcher(), { port })).rejects.toThrow(
      `status: cannot listen on 127.0.0.1 port ${port}: in use already; give another port, a range, or 0 for any that is free`,
    );
    const next = await serve(dispatcher(), { port: `${port}-${Math.min(port + 20, 65_535)}` });
    expect(next.port).toBeGreaterThan(port);
  });

  test.each([-1, 65_536, 1.5, '9465-', '9480-9465', '0-5', 'http', Number.NaN])('port %s is none', async (port) => {
    await expect(serve(dispatcher(), { port })).rejects.toThrow(/port: expected 0 to 65535/);
  });

  test.each([undefined, null, {}, [], 7, { a: 1 }])('%j is no dispatcher', async (sources) => {
    await expect(serve(sources as StatusSources)).rejects.toThrow(/expected a dispatcher/);
  });

  test('closed, it is gone, and its port is free again', async () => {
    const first = await serve(dispatcher());
    await Promise.all([first.close(), first.close()]);
    await expect(ask(`${first.url}/snapshot`)).rejects.toThrow(/ECONNREFUSED/);
    expect((await serve(dispatcher(), { port: first.port })).port).toBe(first.port);
  });
});

describe('switched on from the environment', () => {
  const started = async (env: Record<string, string>) => {
    const server = await serveStatusFromEnv(dispatcher(), { port: 0, env });
    closeLater(server);
    return server;
  };

  test.each(['', ' ', 'off', 'false', '0'])('%j leaves it off', async (value) => {
    expect(await started({ PENSTOCK_STATUS: value })).toBeUndefined();
  });

  test('off unless it is set; on at the port, or the address and port, that it names', async () => {
    expect(await started({})).toBeUndefined();
    expect((await started({ PENSTOCK_STATUS: 'on' }))?.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    const { port } = (await started({ PENSTOCK_STATUS: '1' }))!;
    const range = `${port}-${Math.min(port + 20, 65_535)}`;
    expect((await started({ PENSTOCK_STATUS: `127.0.0.2:${range}` }))?.url).toMatch(/^http:\/\/127\.0\.0\.2:/);
    const guarded = await started({ PENSTOCK_STATUS: 'on', PENSTOCK_STATUS_TOKEN_FROM: 'T', T: 'x' });
    expect((await ask(`${guarded?.url}/snapshot`)).status).toBe(401);
    await expect(started({ PENSTOCK_STATUS: '0.0.0.0:0' })).rejects.toThrow(/give a token/);
    await expect(started({ PENSTOCK_STATUS: 'maybe' })).rejects.toThrow(/PENSTOCK_STATUS: expected on, off/);
  });
});
