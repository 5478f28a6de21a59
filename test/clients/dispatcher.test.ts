import axios from 'axios';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Call } from '../../src/dispatch/context.ts';
import { bucketOf } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';
import { closeAgents, HTTP_CLIENTS, howOf } from './support/http-clients.ts';
import { rigFor } from './support/lane.ts';
import { type Answer, LocalServer } from './support/local-server.ts';
import { expectNoSockets } from './support/open-sockets.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await LocalServer.start();
});
afterAll(async () => {
  await closeAgents();
  await server.close();
  await expectNoSockets();
});

const SEVEN: Answer = { status: 429, headers: { 'Retry-After': '7' } };
const byAxios = ({ signal }: Call) => axios.get(server.url, { proxy: false, signal });

/** A gate for the answers of the server. */
function held(answer: Answer): { readonly all: Promise<void>; readonly release: () => void } {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const all = new Promise<void>((arrived) => {
    server.answers((request, response) => {
      request.resume();
      arrived();
      void released.then(() => {
        response.writeHead(answer.status, { Connection: 'close', ...answer.headers } as Record<string, string>);
        response.end('{"message":"slow down"}');
      });
    });
  });
  return { all, release };
}

describe.each(HTTP_CLIENTS.map((client) => [client.name, client] as const))('%s', (_, client) => {
  test('a deadline that passes ends the request itself', async () => {
    server.answers('silence');
    const rig = rigFor();
    const arrived = server.heard();
    const made = rig.call({ deadlineIn: 5_000, fn: ({ signal }) => client.call(server.url, signal) });
    await arrived;
    await rig.to(5_000);
    await made.promise;
    expect(made.refusal).toMatchObject({ code: 'DEADLINE_EXCEEDED', phase: 'running' });
    while (rig.snap().overdue > 0) await rig.settle();
    expect([rig.alerts, rig.snap().holds]).toEqual([[], []]);
    await rig.rest();
  });

  test('an answer that comes after the deadline is read', async () => {
    const { all, release } = held(SEVEN);
    const rig = rigFor();
    let outcome: unknown;
    const made = rig.call({
      deadlineIn: 5_000,
      // The signal is not passed on: the request outlives its caller.
      fn: async () => {
        outcome = await client.call(server.url).catch((error: unknown) => error);
        if (howOf(client, 429) === 'thrown') throw outcome;
        return outcome;
      },
    });
    await all;
    await rig.to(5_000);
    await made.promise;
    expect([made.result, rig.alerts]).toEqual(['DEADLINE_EXCEEDED', []]);
    release();
    while (rig.snap().overdue > 0) await rig.settle();
    expect(rig.alerts).toMatchObject([{ name: 'QuotaModelWrong', server: { status: 429, retryAfterMs: 7_000 } }]);
    expect(rig.snap().holds).toMatchObject([{ cause: 'retry-after', leftMs: 7_000 }]);
    await client.read?.(outcome as never);
    await rig.rest();
  });
});

describe('a lane', () => {
  test('of many calls in flight has one incident when all are refused', async () => {
    const { all, release } = held(SEVEN);
    const rig = new Rig(bucketOf(100, 60_000, 100));
    const calls = rig.callMany(20, { fn: byAxios });
    await all;
    release();
    await Promise.all(calls.map(({ promise }) => promise));
    expect(server.requests).toBe(20);
    expect(new Set(calls.map(({ error }) => error)).size).toBe(20);
    expect(rig.alerts.map(({ name }) => name)).toEqual(Array(20).fill('QuotaModelWrong'));
    expect(new Set(rig.alerts.map(({ incident }) => incident.id)).size).toBe(1);
    const { inARow, holds, totals } = rig.snap();
    expect([inARow, totals.throttled, holds.map(({ leftMs }) => leftMs)]).toEqual([1, 20, [7_000]]);
    await rig.rest();
  });

  test('asks again when its hold is over, and a success ends the row', async () => {
    server.answers(SEVEN);
    const rig = rigFor();
    await rig.call({ fn: byAxios }).promise;
    server.answers({ status: 200 });
    const next = rig.call({ fn: byAxios });
    await rig.to(6_999);
    expect([server.requests, rig.snap().inARow]).toEqual([0, 1]);
    await rig.to(7_000);
    await next.promise;
    expect([server.requests, next.startedMs, rig.snap().inARow]).toEqual([1, 7_000, 0]);
    await rig.rest();
  });

  test('that is refused again and again holds longer than the server says', async () => {
    server.answers({ status: 429, headers: { 'Retry-After': '1' } });
    const rig = rigFor();
    const leftMs: (number | undefined)[] = [];
    for (let attempt = 1; attempt <= 4; attempt++) {
      const made = rig.call({ fn: byAxios });
      await rig.by(rig.snap().holds[0]?.leftMs ?? 0);
      await made.promise;
      leftMs.push(rig.snap().holds[0]?.leftMs);
    }
    expect(leftMs).toEqual([1_000, 4_000, 8_000, 16_000]);
    await rig.rest();
  });

  test('learns from a lease what its holder says', async () => {
    server.answers(SEVEN);
    const rig = rigFor();
    const lease = await rig.dispatcher.acquire('api');
    const error: unknown = await axios.get(server.url, { proxy: false }).catch((thrown: unknown) => thrown);
    lease.release(error);
    expect(rig.alerts).toMatchObject([{ name: 'QuotaModelWrong', server: { retryAfterMs: 7_000 } }]);
    expect(rig.record.ends).toMatchObject([{ type: 'settled', outcome: 'throttled', retryAfterMs: 7_000 }]);
    expect(rig.snap().holds).toMatchObject([{ cause: 'retry-after', leftMs: 7_000 }]);
    await rig.rest({ otherCalls: 1 });
  });
});
