import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createDispatcher } from '../../src/index.ts';
import { ManualClock } from '../../src/testing.ts';
import { ask, closeAll, dispatcher, serve } from './support/client.ts';

afterEach(closeAll);

describe('clients that misbehave', () => {
  const raw = (port: number, text: string): Promise<string> =>
    new Promise((resolve) => {
      let got = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(text));
      socket.on('data', (part) => (got += part)).on('close', () => resolve(got));
      socket.on('error', () => resolve(got));
    });

  test('garbage, headers without end and a body without end change nothing', async () => {
    const { port, url } = await serve(dispatcher());
    expect(await raw(port, 'hello\r\n\r\n')).toBe('');
    expect(await raw(port, `GET /snapshot HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(100_000)}`)).toBe('');
    const upload = 'GET /snapshot HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000000\r\n\r\nabc';
    expect(await raw(port, upload)).toMatch(/^HTTP\/1\.1 200 .*connection: close/is);
    expect(await raw(port, 'GET /snapshot HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 403/);
    expect((await ask(`${url}/snapshot`)).status).toBe(200);
  });

  test('no more than 64 at once', async () => {
    const { port } = await serve(dispatcher());
    const sockets = Array.from({ length: 80 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    let dropped = 0;
    for (const socket of sockets) socket.on('close', () => dropped++);
    await vi.waitFor(() => expect(dropped).toBe(16));
    for (const socket of sockets) socket.destroy();
  });
});

describe('in a process', () => {
  test('neither it nor a client that stays keeps the process alive', { timeout: 30_000 }, async () => {
    const program = `
      import { createDispatcher } from './src/index.ts';
      import { serveStatus } from './src/status.ts';
      const { url } = await serveStatus(createDispatcher({ downstreams: { a: { quota: '1/second' } } }), { port: 0 });
      const { Agent, get } = await import('node:http');
      const agent = new Agent({ keepAlive: true });
      await new Promise((done) => get(url + '/snapshot', { agent }, (answer) => answer.resume().on('end', done)));
      console.log(Date.now());
    `;
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      program,
    ]);
    // Both ends would give the connection up after five seconds.
    expect(Date.now() - Number(stdout)).toBeLessThan(3_000);
  });

  test('100,000 waiters cost a reader less than a millisecond of the loop', async () => {
    const one = createDispatcher(
      { downstreams: { carrier: { quota: '1/minute' } } },
      { env: {}, clock: new ManualClock() },
    );
    for (let n = 0; n < 100_000; n++) void one.callDownstream('carrier', () => n).catch(() => undefined);
    await undefined;
    const times: number[] = [];
    for (let n = 0; n < 21; n++) {
      const from = performance.now();
      JSON.stringify(one.snapshot());
      times.push(performance.now() - from);
    }
    expect(Math.min(...times)).toBeLessThan(1);
  });

  test('it says nothing that came with a call', async () => {
    const clock = new ManualClock();
    const one = createDispatcher(
      { downstreams: { carrier: { quota: '2/minute' } } },
      { env: {}, clock, onAlert: () => undefined, alertSinks: [] },
    );
    const mark = 'sk-marked-value';
    const failing = () => {
      throw Object.assign(new Error(mark), {
        status: 429,
        headers: { 'retry-after': '9', 'x-secret': mark },
        url: `https://${mark}`,
      });
    };
    await one.callDownstream('carrier', failing, { account: mark, tool: 'tool' }).catch(() => undefined);
    const { url } = await serve(one);
    const { body } = await ask(`${url}/snapshot`);
    expect(JSON.parse(body).downstreams[0]).toMatchObject({ totals: { throttled: 1 }, recent: { throttled: 1 } });
    expect(body).not.toContain(mark);
  });
});
