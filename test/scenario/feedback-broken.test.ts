import { describe, expect, it } from 'vitest';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { FakeDownstream, type FakeDownstreamOptions } from '../../src/testing.ts';
import { bucketOf } from '../support/configs.ts';
import { Diagnosed } from '../support/diagnosed.ts';
import { Rig } from '../support/rig.ts';

const MINUTE = 60_000;

function answer(headers: Record<string, string>, status = 200): Response {
  return new Response(null, { status, headers });
}

/** What is left until a reset in so many seconds. */
function left(remaining: number, resetS: number): Response {
  return answer({ 'x-ratelimit-remaining': String(remaining), 'x-ratelimit-reset-after': String(resetS) });
}

/** Declared as what the server enforces. */
const LIMITS = (limit: number, windowMs: number) => ({
  policy: { quota: { limit, per: windowMs } },
  declares: [{ unit: 'requests', limit, windowMs }],
});

/** How many of so many calls start in so long a time, each answered after `runMs`; the server tells its counter, or nothing. */
async function startedIn(
  ms: number,
  runMs: number,
  server: Omit<FakeDownstreamOptions, 'clock'> & { limit: number; windowMs: number },
): Promise<number> {
  const rig = new Rig(LIMITS(server.limit, server.windowMs));
  const downstream = new FakeDownstream({ clock: rig.clock, ...server });
  const fn = async (): Promise<Response> => {
    const response = downstream.call();
    await rig.sleep(runMs);
    return response;
  };
  rig.callMany(600, { fn });
  await rig.to(ms);
  const count = rig.starts().length;
  expect(downstream.count({ status: 429 })).toBe(0);
  await rig.dispatcher.close({ within: 0 });
  return count;
}

describe('calls that take longer than the window of the server', () => {
  it.each([
    ['90 s in a minute', 90_000, MINUTE, 60],
    ['20 s in 10 s', 20_000, 10_000, 100],
  ])('do not hold up a lane that is alone on its quota: %s', async (_, runMs, windowMs, limit) => {
    for (const kind of ['fixed', 'sliding', 'bucket'] as const) {
      const ms = 5 * windowMs;
      const silent = await startedIn(ms, runMs, { limit, windowMs, kind, headers: 'none' });
      expect(await startedIn(ms, runMs, { limit, windowMs, kind, headers: 'x-ratelimit' })).toBeGreaterThan(
        silent * 0.9,
      );
    }
  });

  it('still hold it up where their answer says that nothing is left', async () => {
    const rig = new Rig(bucketOf(75, MINUTE, 63));
    rig.call({ fn: () => rig.sleep(30_000).then(() => left(0, 5)) });
    await rig.to(30_000);
    const next = rig.call();
    await rig.to(40_000);
    expect(next.startedMs).toBe(35_000);
    await rig.rest();
  });

  it('count with what has started since, before the reset as it was when they came to the server', async () => {
    const rig = new Rig(bucketOf(75, MINUTE, 63));
    rig.call({ fn: () => rig.sleep(10_000).then(() => left(8, 30)) });
    await rig.to(1_000);
    rig.callMany(6);
    await rig.to(10_000);
    rig.callMany(5);
    await rig.to(31_000);
    expect(rig.starts()).toHaveLength(9);
    await rig.to(MINUTE);
    await rig.rest();
  });
});

describe('a new policy', () => {
  it.each<[string, DownstreamPolicyInput]>([
    ['of another window', { quota: { limit: 50, per: '1s', providerBurst: 50 } }],
    ['of a day', { quota: { limit: 5_000, per: '1d', providerBurst: 50 } }],
    ['without a quota', {}],
  ])('does not forget what the server left: %s', async (_, policy) => {
    const rig = new Rig(bucketOf(75, MINUTE, 63));
    rig.call({ fn: () => left(3, 50) });
    await rig.settle();
    rig.dispatcher.register('api', policy);
    rig.callMany(10);
    await rig.to(49_999);
    expect(rig.starts()).toHaveLength(4);
    await rig.dispatcher.close({ within: 0 });
  });
});

describe('a limit of something that no call is known to cost', () => {
  const spent = (unit: string) => () =>
    answer({ [`x-ratelimit-remaining-${unit}`]: '0', [`x-ratelimit-reset-${unit}`]: '3600' });

  it('stops nothing when it is used up', async () => {
    const rig = new Rig(bucketOf(75, MINUTE, 63));
    rig.call({ fn: spent('images') });
    await rig.settle();
    expect(rig.call()).toMatchObject({ state: 'waiting' });
    await rig.settle();
    expect(rig.starts()).toEqual([0, 0]);
    await rig.rest();
  });

  it.each(['tokens', 'input-tokens'])('stops all where it is %s, which every call of a model costs', async (unit) => {
    const rig = new Rig(bucketOf(75, MINUTE, 63));
    rig.call({ fn: spent(unit) });
    await rig.settle();
    expect(rig.snap()).toMatchObject({ isPaused: true });
    await rig.rest();
  });
});

it('what is left of the day is not shown as left of the minute', async () => {
  const rig = new Rig({
    policy: { quota: ['60/minute', '1000/day'] },
    declares: [{ unit: 'requests', limit: 60, windowMs: MINUTE }],
  });
  const headers = {
    'ratelimit-policy': '"m";q=60;w=60, "d";q=1000;w=86400',
    ratelimit: '"m";r=40;t=30, "d";r=2;t=36000',
  };
  rig.call({ fn: () => answer(headers) });
  await rig.settle();
  const [minute, day] = rig.snap().quotas;
  expect(minute).not.toHaveProperty('counted');
  expect(day).toMatchObject({ counted: { left: 2 } });
  await rig.rest();
});

describe('the limit that a server names', () => {
  const told = (limit: number, remaining: number, resetS: number, status = 200) =>
    answer(
      { 'x-ratelimit-limit': `${limit}`, 'x-ratelimit-remaining': `${remaining}`, 'x-ratelimit-reset': `${resetS}` },
      status,
    );

  /** Calls 1.5 s apart, each with the next of these answers. */
  async function told60(answers: readonly Response[], quota: DownstreamPolicyInput['quota'] = '60/minute') {
    const world = new Diagnosed({ quota: quota! }, { limit: 1_000, windowMs: MINUTE });
    for (const one of answers) {
      await world.dispatcher.callDownstream('carrier', () => one);
      await world.clock.advance(1_500);
    }
    await world.close();
    return world.alerts;
  }

  it('is not that of the day where it names now the one, now the other without their windows', async () => {
    const minute = [0, 1, 2, 3, 4].map((n) => told(60, 50 - n, 50 - n));
    expect(await told60([told(30_000, 300, 80_000), ...minute], ['60/minute', '30000/day'])).toEqual([]);
  });

  it('is not that of the minute because its hour is nearly over: nobody is told to raise a quota', async () => {
    const answers = [59, 57, 56, 54].map((s) => told(500, 5, s));
    const alerts = await told60([...answers, told(500, 0, 53, 429)]);
    expect(alerts.map(({ name }) => name)).toEqual(['QuotaModelWrong']);
    expect(alerts[0]).not.toMatchObject({ hypothesis: 'limit-changed' });
    expect(alerts[0]?.suggestion).toBeUndefined();
  });

  it('is told once it has lasted for a whole window', async () => {
    const answers = Array.from({ length: 48 }, (_, n) => told(100, 60, 60 - ((1.5 * n) % 60)));
    expect(await told60(answers)).toMatchObject([{ name: 'QuotaDrift', suggestion: { to: '100/minute' } }]);
  });

  it('is what was said last, under whatever name', async () => {
    const now = answer({ 'ratelimit-policy': '"a";q=60;w=60', ratelimit: '"a";r=50;t=30' });
    const alerts = await told60([told(40, 30, 50), now, answer({}, 429)]);
    expect(alerts).toHaveLength(1);
    expect(alerts[0]).not.toMatchObject({ hypothesis: 'limit-changed' });
  });

  it('is the declared one where it comes with a fraction', async () => {
    const alerts = await told60([told(60.5, 0, 59, 429)]);
    expect(alerts[0]).not.toMatchObject({ hypothesis: 'limit-changed' });
    expect(alerts[0]?.suggestion).toBeUndefined();
  });

  it('is heard however many others were named before', async () => {
    const routes = Array.from({ length: 20 }, (_, n) => {
      const headers = { 'x-ratelimit-bucket': `route-${n}`, 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4' };
      return answer({ ...headers, 'x-ratelimit-reset-after': '1' });
    });
    const answers = [59, 57, 55].map((s, n) => told(60, 40 - 3 * n, s));
    const alerts = await told60([...routes, ...answers, told(60, 0, 50, 429)]);
    expect(alerts.at(-1)).toMatchObject({ name: 'QuotaModelWrong', hypothesis: 'other-consumer' });
  });
});

describe('a lease', () => {
  it.each([
    ['a status', { status: 429 }, 'cooldown', 2_000],
    ['a status and a wait', { statusCode: 429, retryAfterMs: 5_000 }, 'retry-after', 5_000],
    ['what a client has thrown', { response: { status: 429, headers: { 'retry-after': '5' } } }, 'retry-after', 5_000],
    ['a verdict', { outcome: 'overloaded', server: { retryAfterMs: 5_000 } }, 'retry-after', 5_000],
    ['an error', Object.assign(new Error('no'), { status: 429 }), 'cooldown', 2_000],
  ])('given back with %s tells as much as a report', async (_, outcome, cause, leftMs) => {
    const rig = new Rig(bucketOf(75, MINUTE, 63));
    (await rig.dispatcher.acquire('api')).release(outcome);
    expect(rig.snap().holds).toMatchObject([{ cause, leftMs }]);
    await rig.rest({ otherCalls: 1 });
  });

  it('given back without a word ends no row of incidents', async () => {
    const rig = new Rig(bucketOf(75, MINUTE, 63));
    rig.call({ fn: () => answer({}, 429) });
    await rig.to(30_000);
    (await rig.dispatcher.acquire('api')).release();
    expect(rig.snap().inARow).toBe(1);
    await rig.to(MINUTE);
    (await rig.dispatcher.acquire('api')).release(answer({}));
    expect(rig.snap().inARow).toBe(0);
    await rig.rest({ otherCalls: 2 });
  });
});

describe('an explanation', () => {
  const refused = (headers: Record<string, string>) => answer({ 'retry-after': '3', ...headers }, 429);

  it('does not blame the policy for the first call of all', async () => {
    const world = new Diagnosed({ quota: '1/3s' }, { limit: 1, windowMs: 3_000 });
    const headers = { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '2' };
    await world.dispatcher.callDownstream('carrier', () => refused(headers));
    expect(world.alerts[0]).not.toMatchObject({ hypothesis: 'policy-too-wide' });
    await world.close();
  });

  it('does not blame the process before where the server asks for more than a window', async () => {
    const world = new Diagnosed({ quota: '60/minute' }, { limit: 60, windowMs: MINUTE });
    await world.dispatcher.callDownstream('carrier', () => answer({ 'retry-after': '2592000' }, 429));
    expect(world.alerts[0]).toMatchObject({ hypothesis: 'unknown' });
    expect(world.alerts[0]?.explanation).toContain('more time than any declared window lasts');
    expect(world.alerts[0]?.explanation).not.toContain('Nothing is to be done');
    await world.close();
  });

  it('proposes no limit that its own numbers speak against', async () => {
    const world = new Diagnosed({ quota: '60/minute' }, { limit: 60, windowMs: MINUTE });
    const headers = { 'x-ratelimit-limit': '40', 'x-ratelimit-remaining': '30', 'x-ratelimit-reset': '50' };
    for (let n = 0; n < 10; n++) {
      await world.dispatcher.callDownstream('carrier', () => answer(headers));
      await world.clock.advance(1_300);
    }
    world.dispatcher.register('carrier', { quota: '40/minute' });
    await world.dispatcher.callDownstream('carrier', () => refused({}));
    // 4 in 5 s went through all the time: no reason to propose 3.
    expect(world.first('QuotaModelWrong')).toMatchObject({ hypothesis: 'hidden-window' });
    expect(JSON.stringify(world.first('QuotaModelWrong').suggestion ?? '')).not.toContain('/5s');
    await world.close();
  });

  it('counts no steps of a cooldown that has none', async () => {
    const world = new Diagnosed({ quota: '60/minute' }, { limit: 60, windowMs: MINUTE });
    world.dispatcher.report('carrier', { outcome: 'exhausted' });
    expect(world.first('QuotaExhausted').explanation).not.toContain('step');
    await world.close();
  });

  it('quotes no header: names, and where a time was read, are words', async () => {
    const world = new Diagnosed({ quota: '60/minute' }, { limit: 60, windowMs: MINUTE });
    const url = 'https://carrier.example/v1/customers/4711';
    const limit = { 'x-ratelimit-bucket': url, 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '0' };
    await world.dispatcher.callDownstream('carrier', () => refused(limit));
    const name = `x\n\u001B[31mFORGED ${'z'.repeat(20)}-retry-after`;
    world.dispatcher.report('carrier', { status: 429, headers: { [name]: '5' } });
    world.dispatcher.report('carrier', {
      outcome: 'throttled',
      server: { status: 429, url, headers: { authorization: 'Bearer sk-1' }, limit: 'NaN', readFrom: url, code: url },
    });
    const all = JSON.stringify(world.alerts);
    expect(world.alerts).toHaveLength(3);
    for (const word of ['https:', 'Bearer', 'authorization', '\\u001b', 'NaN', '/v1/']) expect(all).not.toContain(word);
    await world.close();
  });
});
