import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFetch, type FetchOptions } from '../../../src/adapters/fetch.ts';
import { createDispatcher, type DispatcherEvent } from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';
import { TestServer } from '../support/server.ts';

let server: TestServer;
/** What the server does after the first part of an answer. */
let go: () => void;
beforeAll(async () => {
  server = await TestServer.start((request, response) => {
    if (request.path === '/none' || request.method === 'HEAD') response.writeHead(204).end();
    else if (request.path === '/empty') response.writeHead(200, { 'content-length': 0 }).end();
    else if (request.path === '/refused') response.writeHead(429, { 'retry-after': '7' }).end('no');
    else {
      response.writeHead(200, { 'content-type': 'application/x-www-form-urlencoded' });
      response.write('{"a":');
      go = () => void (request.path === '/broken' ? response.destroy() : response.end('1}'));
    }
  });
});
afterAll(() => server.close());

function rig(options: FetchOptions = {}) {
  const clock = new ManualClock();
  const dispatcher = createDispatcher(
    { downstreams: { carrier: { hosts: [server.host] } } },
    { clock, alertSinks: [], env: {} },
  );
  const events: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => events.push(event));
  const running = () => dispatcher.snapshot().downstreams[0]?.running;
  const outcomes = () => events.flatMap((event) => (event.type === 'settled' ? [event.outcome] : []));
  const gated = createFetch(dispatcher, { leaseUntil: 'body', ...options });
  return { clock, dispatcher, events, running, outcomes, gated };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(1);
}

const READS: Readonly<Record<string, (response: Response) => Promise<unknown>>> = {
  json: (response) => response.json(),
  text: (response) => response.text(),
  arrayBuffer: (response) => response.arrayBuffer(),
  blob: (response) => response.blob(),
  formData: (response) => response.formData(),
  'a reader': async (response) => {
    const reader = response.body!.getReader();
    while (!(await reader.read()).done);
  },
  'two readers': async (response) => {
    const first = response.body!.getReader();
    await first.read();
    first.releaseLock();
    for await (const _ of response.body!);
  },
  'for await': async (response) => {
    for await (const _ of response.body!);
  },
  pipeTo: (response) => response.body!.pipeTo(new WritableStream()),
  pipeThrough: (response) => response.body!.pipeThrough(new TextDecoderStream()).pipeTo(new WritableStream()),
  tee: async (response) => {
    const [one, two] = response.body!.tee();
    await Promise.all([new Response(one).text(), new Response(two).text()]);
  },
  'a clone beside it': async (response) => {
    const copy = response.clone();
    await Promise.all([copy.text(), response.text()]);
  },
  'its clone alone': (response) => response.clone().text(),
  'another Response around its body': (response) => new Response(response.body).text(),
};

describe('leaseUntil: body', () => {
  test.each(Object.entries(READS))('%s: the place is kept to the end, and no longer', async (_, read) => {
    const { gated, running, outcomes } = rig();
    const response = await gated(server.url);
    const done = read(response);
    await sleep(5);
    expect(running()).toBe(1);
    go();
    await done;
    await until(() => running() === 0);
    expect(outcomes()).toEqual(['success']);
  });

  test('it is the response that base has made', async () => {
    const made: Response[] = [];
    const base: FetchOptions['base'] = async (input, init) => {
      const response = await fetch(input, init);
      made.push(response);
      return response;
    };
    const { gated } = rig({ base });
    const response = await gated(server.url);
    expect([response === made[0], response.url, response.type, response.bodyUsed, response.body?.locked]).toEqual([
      true,
      `${server.url}/`,
      'basic',
      false,
      false,
    ]);
    await response.body?.cancel();
  });

  test('cancelled, left in the middle, broken', async () => {
    const { gated, running, outcomes } = rig();
    await (await gated(server.url)).body?.cancel();
    await until(() => running() === 0);
    for await (const _ of (await gated(server.url)).body!) break;
    await until(() => running() === 0);
    const broken = await gated(`${server.url}/broken`);
    go();
    await expect(broken.text()).rejects.toThrow('terminated');
    await until(() => running() === 0);
    expect(outcomes()).toEqual(['success', 'success', 'failed']);
  });

  test('the deadline ends a body that does not', async () => {
    const { gated, running, clock } = rig();
    const response = await gated(server.url, { penstock: { deadline: clock.wallNow() + 5_000 } });
    const text = response.text().catch((error) => error.code);
    await clock.advance(5_000);
    expect(await text).toBe('DEADLINE_EXCEEDED');
    await until(() => running() === 0);
  });

  test('who reads too late is told that it was aborted, as by any fetch, and not that somebody has read it', async () => {
    const { gated, running, clock, dispatcher } = rig();
    const deadline = clock.wallNow() + 5_000;
    const late = await gated(server.url, { penstock: { deadline } });
    await clock.advance(5_000);
    const abort = new AbortController();
    const aborted = await gated(server.url, { signal: abort.signal });
    abort.abort();
    await until(() => running() === 0);
    const closed = await gated(server.url, { penstock: { deadline: deadline + 60_000 } });
    await dispatcher.close({ within: 0 });
    for (const response of [late, aborted, closed]) {
      await expect(response.text()).rejects.toMatchObject({ name: 'AbortError' });
    }
  });

  test('where there is no body, or an error, the headers are the end', async () => {
    const { gated, running, outcomes, clock } = rig();
    await gated(`${server.url}/none`);
    await gated(`${server.url}/empty`);
    await gated(server.url, { method: 'HEAD' });
    expect(running()).toBe(0);
    await gated(`${server.url}/refused`);
    expect([running(), outcomes()]).toEqual([0, ['success', 'success', 'success', 'throttled']]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('one that nobody reads', async () => {
    const { gated, running, events, clock } = rig({ unreadAfter: '10s' });
    const response = await gated(server.url);
    await clock.advance(9_999);
    expect(running()).toBe(1);
    await clock.advance(1);
    expect(running()).toBe(0);
    expect(events.filter(({ type }) => type === 'body-unread')).toMatchObject([{ downstream: 'carrier' }]);
    go();
    expect(await response.text()).toBe('{"a":1}');
  });

  test('one that was cloned and then left', async () => {
    const { gated, running, clock } = rig({ unreadAfter: '10s' });
    const response = await gated(server.url);
    response.clone();
    await clock.advance(10_000);
    expect(running()).toBe(0);
  });

  test('end means the same', async () => {
    const { gated, running } = rig({ leaseUntil: 'end' });
    const response = await gated(server.url);
    expect(running()).toBe(1);
    go();
    await response.text();
    await until(() => running() === 0);
  });
});
