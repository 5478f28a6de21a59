import { describe, expect, test } from 'vitest';
import { type Alert, createDispatcher, type DispatcherOptions, explain, type PolicyInput } from '../../src/index.ts';
import { FakeDownstream, ManualClock } from '../../src/testing.ts';
import { read } from './support/pages.ts';

const MINUTE = 60_000;
const page = read('README.md');

/** What a sentence of the README promises; the sentence must still be there. */
function promised(sentence: string, run: () => Promise<void>): void {
  test(sentence, async () => {
    expect(page).toContain(sentence);
    await run();
  });
}

function carrier(policy: PolicyInput['downstreams'][string], options: DispatcherOptions = {}) {
  const clock = new ManualClock();
  const server = new FakeDownstream({ clock, limit: 60, windowMs: MINUTE });
  const dispatcher = createDispatcher<PolicyInput>(
    { downstreams: { carrier: policy } },
    { clock, alertSinks: [], env: {}, ...options },
  );
  const call = (ctx?: object) => dispatcher.callDownstream('carrier', () => server.call(), ctx);
  const lane = () => dispatcher.snapshot().downstreams[0];
  return { clock, server, call, lane, ...dispatcher };
}

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: Error) => error,
  );

describe('Switching it on in a running fleet', () => {
  promised('no call waits or is refused, a 429 already raises an alert', async () => {
    const alerts: Alert[] = [];
    const env = { PENSTOCK_MODE: 'observe' };
    const { server, call, lane } = carrier({ quota: '60/minute' }, { env, onAlert: (alert) => alerts.push(alert) });
    for (let n = 0; n < 61; n += 1) await call();
    expect(server.count({ status: 429 })).toBe(1);
    expect(lane()?.totals.started).toBe(61);
    expect(alerts).toMatchObject([{ name: 'QuotaModelWrong', action: { kind: 'none' } }]);
  });

  promised('let one process make the calls of that downstream and write `workers: 1` there', async () => {
    const env = { PENSTOCK__DEFAULTS__WORKERS: '4' };
    expect(() => carrier({ quota: '1/second' }, { env })).toThrow(/cannot be divided among 4 workers/);
    expect(carrier({ quota: '1/second', workers: 1 }, { env }).lane()?.quotas[0]?.sizedPerSecond).toBe(0.8);
  });

  promised('lets everybody through from that moment, those that wait included', async () => {
    const { clock, call, lane, setMode } = carrier({ quota: '60/minute' });
    const calls = Array.from({ length: 20 }, () => call());
    await clock.advance(0);
    expect(lane()?.queued).toBe(14);
    setMode('off');
    await Promise.all(calls);
    expect(clock.now()).toBe(0);
  });

  promised('`PENSTOCK__DEFAULTS__WORKERS=4`', async () => {
    const env = { PENSTOCK__DEFAULTS__WORKERS: '4' };
    const { lane } = carrier({ quota: '60/minute' }, { env });
    expect(lane()?.quotas[0]?.sizedPerSecond).toBe(0.2);
  });

  promised("`await dispatcher.close({ drain: true, within: '20s' })`", async () => {
    const { clock, call, close } = carrier({ quota: '60/minute' });
    const calls = Array.from({ length: 10 }, () => call());
    await clock.advance(0);
    const closing = close({ drain: true, within: '20s' });
    await clock.advance(20_000);
    expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
    expect(await closing).toMatchObject({ refused: 0, abandoned: 0 });
  });
});

describe('At 3 am', () => {
  promised("`dispatcher.resume('carrier', { all: true })` ends every hold, the server's included", async () => {
    const { server, call, lane, resume, pause } = carrier({ quota: '60/minute' });
    server.answerNext(1, 429, { 'retry-after': '900' });
    await call();
    pause('carrier', { for: '30m', reason: 'maintenance' });
    expect(
      lane()
        ?.holds.map(({ cause }) => cause)
        .sort(),
    ).toEqual(['operator', 'retry-after']);
    resume('carrier');
    expect(lane()?.isPaused).toBe(true);
    resume('carrier', { all: true });
    expect(lane()?.holds).toEqual([]);
  });

  promised('one whose deadline would pass first is refused now, not then', async () => {
    const { clock, server, call } = carrier({ quota: '60/minute' });
    const first = Array.from({ length: 6 }, () => call());
    await Promise.all(first);
    server.answerNext(1, 429, { 'retry-after': '30' });
    const throttled = call();
    const waiting = errorOf(call({ deadline: clock.wallNow() + 10_000 }));
    await clock.advance(1_250);
    expect((await throttled).status).toBe(429);
    expect(await waiting).toMatchObject({ code: 'DEADLINE_EXCEEDED', started: false });
    expect(clock.now()).toBe(1_250);
  });

  promised('a hold is never shorter than a cooldown that doubles each time', async () => {
    const { clock, server, call, lane } = carrier({ quota: '60/minute' });
    const holds: (number | undefined)[] = [];
    for (let n = 0; n < 4; n += 1) {
      server.answerNext(1, 429, { 'retry-after': '1' });
      await call();
      holds.push(lane()?.holds[0]?.leftMs);
      await clock.advance(60_000);
    }
    expect(holds).toEqual([1_000, 4_000, 8_000, 16_000]);
  });

  promised('A 503 with `Retry-After`, and a 529, hold the lane in the same way and raise no alert', async () => {
    const alerts: Alert[] = [];
    const { clock, server, call, lane } = carrier({ quota: '60/minute' }, { onAlert: (alert) => alerts.push(alert) });
    server.answerNext(1, 503, { 'retry-after': '9' });
    await call();
    expect(lane()?.holds).toMatchObject([{ cause: 'retry-after', leftMs: 9_000 }]);
    await clock.advance(60_000);
    server.answerNext(1, 529);
    await call();
    expect(lane()?.holds).toHaveLength(1);
    expect(alerts).toEqual([]);
  });

  promised('the lane runs at half its pace for a while (`warm`), by itself', async () => {
    const { clock, server, call } = carrier({ quota: '60/minute' });
    server.answerNext(1, 429, { 'retry-after': '10' });
    await call();
    const calls = Array.from({ length: 4 }, () => call());
    await clock.advance(20_000);
    await Promise.all(calls);
    expect(server.starts().slice(1)).toEqual([10_000, 12_500, 15_000, 17_500]);
  });
});

describe('Gotchas', () => {
  promised('A number before 2001 is refused, and the message says so.', async () => {
    const { call } = carrier({ quota: '60/minute' });
    expect(await errorOf(call({ deadline: 30_000 }))).toMatchObject({
      code: 'INVALID_CALL',
      message: expect.stringContaining('a duration? use Date.now() + ...'),
    });
  });

  promised('keeps its place for up to `leaseGrace` (30 s) longer', async () => {
    const { clock, callDownstream } = carrier({ maxConcurrent: 1 });
    const hung = errorOf(callDownstream('carrier', () => new Promise(() => {}), { deadline: clock.wallNow() + 1_000 }));
    const next = callDownstream('carrier', () => clock.now(), { deadline: clock.wallNow() + 60_000 });
    await clock.advance(40_000);
    expect(await hung).toMatchObject({ code: 'DEADLINE_EXCEEDED', started: true });
    expect(await next).toBe(31_000);
  });

  promised('goes through `call.run(() => ...)` where `maxConcurrent` is set', async () => {
    const { callDownstream, lane } = carrier({ maxConcurrent: 1 });
    expect(await callDownstream('carrier', ({ run }) => run(() => 'inner'))).toBe('inner');
    expect(lane()?.totals.started).toBe(2);
  });

  promised('Several `call.run` at a time share that one place', async () => {
    const { callDownstream, lane } = carrier({ maxConcurrent: 1 });
    let [inside, most] = [0, 0];
    const inner = async () => {
      most = Math.max(most, ++inside);
      await Promise.resolve();
      inside -= 1;
    };
    await callDownstream('carrier', ({ run }) => Promise.all([run(inner), run(inner)]));
    expect([most, lane()?.totals.started]).toEqual([2, 3]);
  });

  promised('`fetch` does not throw on it: the lane reads it, stops, and hands it to you.', async () => {
    const { server, call, lane } = carrier({ quota: '60/minute' });
    server.answerNext(1, 429, { 'retry-after': '5' });
    expect((await call()).status).toBe(429);
    expect(lane()?.holds).toMatchObject([{ cause: 'retry-after', leftMs: 5_000 }]);
  });
});

describe('What the context can say', () => {
  promised('(`deadlin`, `timeout`), is refused with `InvalidCall`', async () => {
    const { call } = carrier({ quota: '60/minute' });
    for (const ctx of [{ deadlin: Date.now() }, { timeout: 30_000 }]) {
      expect(await errorOf(call(ctx))).toMatchObject({ code: 'INVALID_CALL', message: /ctx\.(deadlin|timeout)/ });
    }
    expect(await errorOf(call({ userId: 'ann', locale: 'de' }))).toBeUndefined();
  });
});

describe('Errors', () => {
  async function abortedBy(reason: unknown) {
    const { clock, call } = carrier({ quota: '60/minute' });
    const controller = new AbortController();
    const calls = Array.from({ length: 7 }, () => call({ signal: controller.signal }));
    await clock.advance(0);
    const waiting = errorOf(calls[6] ?? Promise.resolve());
    if (reason === undefined) controller.abort();
    else controller.abort(reason);
    const error = await waiting;
    expect(error).toBe(controller.signal.reason);
    return explain(error);
  }

  promised('A call that its caller aborts rejects with `signal.reason`, whatever that is.', async () => {
    expect(await abortedBy(undefined)).toMatchObject({ code: 'CANCELLED', retryable: false });
    const named = Object.assign(new Error('left'), { name: 'AbortError' });
    expect(await abortedBy(named)).toMatchObject({ code: 'CANCELLED' });
    expect(await abortedBy(new DOMException('too long', 'TimeoutError'))).toMatchObject({ code: 'TIMEOUT' });
    expect(await abortedBy(new Error('the user left'))).toMatchObject({ code: 'FAILED' });
  });

  promised('a call that was aborted while it waited included, the error does not tell', async () => {
    expect(await abortedBy(undefined)).toMatchObject({ started: true });
    const { call, clock } = carrier({ quota: '60/minute' });
    for (let n = 0; n < 6; n += 1) await call();
    expect(explain(await errorOf(call({ deadline: clock.wallNow() + 1 })))).toMatchObject({ started: false });
  });

  promised('or with the code `ETIMEDOUT`', async () => {
    expect(explain(Object.assign(new Error('connect'), { code: 'ETIMEDOUT' }))).toMatchObject({ code: 'TIMEOUT' });
    expect(explain({ status: 429 })).toMatchObject({ code: 'RATE_LIMITED', started: true });
  });
});

test('fan-outs: "delays another run’s call by one start"', async () => {
  expect(page).toContain("delays another run's call by one start");
  const { clock, callDownstream } = carrier({ quota: '60/minute' });
  for (let n = 0; n < 800; n += 1) void callDownstream('carrier', () => 1, { runId: 'fan-out' });
  await clock.advance(60_000);
  const other = callDownstream('carrier', ({ waitedMs }) => waitedMs, { runId: 'other' });
  await clock.advance(5_000);
  expect(await other).toBeLessThanOrEqual(2_500);
});
