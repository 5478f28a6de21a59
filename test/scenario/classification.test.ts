import { describe, expect, it } from 'vitest';
import type { Classifier } from '../../src/base/verdict.ts';
import { explain } from '../../src/explain.ts';
import { mcpToolResult } from '../../src/feedback/classifiers.ts';
import { configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

const HOUR = 3_600_000;

/** fn that ends with a value, thrown or returned. */
function ending(value: unknown, isThrown: boolean) {
  return (): unknown => {
    if (isThrown) throw value;
    return value;
  };
}

function failures(rig: Rig): string[] {
  return rig.record.events.flatMap((event) => (event.type === 'classifier-failed' ? [event.detail] : []));
}

describe('RateLimit headers and classification', () => {
  const left = (status: number, more: object = {}) => ({
    status,
    headers: { 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '4885', 'x-ratelimit-reset': '3600', ...more },
  });

  it.each([
    ['429, thrown', 429, true],
    ['429, returned', 429, false],
    ['403 where the policy says so, thrown', 403, true],
    ['403 where the policy says so, returned', 403, false],
  ])('B43: a refusal wins over a counter with thousands left: %s', async (_, status, isThrown) => {
    const rig = new Rig(configS({ throttleStatuses: [403, 429] }));
    rig.call({ fn: ending(left(status), isThrown) });
    await rig.settle();
    expect(rig.alerts).toHaveLength(1);
    expect(rig.snap().holds).toMatchObject([{ cause: 'cooldown', leftMs: 2_000 }]);
    const next = rig.call();
    await rig.to(1_999);
    expect(next.state).toBe('waiting');
    await rig.to(2_000);
    expect(next.startedMs).toBe(2_000);
    rig.dispatcher.report('api', left(status, { 'retry-after': '60' }));
    expect(rig.snap().holds).toMatchObject([{ cause: 'retry-after', leftMs: 60_000 }]);
    await rig.to(63_000);
    await rig.rest();
  });

  it('B43: a 403 with permits left and no word of coming back is a 403', async () => {
    const rig = new Rig(configS());
    rig.call({ fn: ending(left(403), true) });
    await rig.settle();
    expect([rig.alerts, rig.snap().holds]).toEqual([[], []]);
    await rig.rest();
  });

  const secondsInMessage: Classifier = ({ value }) => {
    const match = /retry in (\d+\.\d+)s/.exec(String((value as Error).message));
    return match === null ? undefined : { outcome: 'throttled', server: { retryAfterMs: Number(match[1]) * 1_000 } };
  };
  const daily: Classifier = () => ({ outcome: 'exhausted', server: { retryAfterMs: 6 * HOUR } });
  const inWords = () => Object.assign(new Error('429 please retry in 45.837906927s'), { status: 429 });

  it('B48: a wait that stands in the words alone is read by a hook, rounded up', async () => {
    const rig = new Rig(configS(), { classify: { api: secondsInMessage } });
    rig.call({ fn: ending(inWords(), true) });
    await rig.settle();
    const next = rig.call();
    await rig.to(45_837);
    expect(next.state).toBe('waiting');
    await rig.to(45_838);
    expect(next.startedMs).toBe(45_838);
    await rig.rest();
  });

  it('B48: without a hook the cooldown applies; in a parsed body the wait needs none', async () => {
    const rig = new Rig(configS());
    rig.call({ fn: ending(inWords(), true) });
    await rig.settle();
    expect(rig.alerts).toHaveLength(1);
    expect(rig.snap().holds).toMatchObject([{ cause: 'cooldown', leftMs: 2_000 }]);
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '45.837906927s' }];
    rig.dispatcher.report('api', { status: 429, response: { status: 429, data: { error: { details } } } });
    expect(rig.snap().holds).toContainEqual(expect.objectContaining({ cause: 'retry-after', leftMs: 45_838 }));
    await rig.to(50_000);
    await rig.rest();
  });

  it('B48: a quota of a day: a pause of six hours, and who cannot wait is told at once', async () => {
    const rig = new Rig(configS(), { classify: { api: daily } });
    rig.call({ fn: ending(inWords(), true) });
    await rig.settle();
    const told = rig.call({ deadlineIn: 60_000 });
    await rig.settle();
    expect(told.result).toBe('RATE_LIMITED');
    expect(told.refusal.retryAfterMs).toBeGreaterThanOrEqual(6 * HOUR);
    expect(rig.alerts.map(({ name }) => name)).toEqual(['QuotaExhausted']);
    await rig.to(6 * HOUR);
    await rig.rest();
  });

  it('B48: the seconds that a server names beside a quota of a day are no cure', async () => {
    const rig = new Rig(configS());
    const violations = [{ quotaId: 'GenerateRequestsPerDayPerProject' }];
    const details = [{ violations }, { '@type': 'google.rpc.RetryInfo', retryDelay: '1s' }];
    rig.call({ fn: ending(Object.assign(new Error('x'), { status: 429, errorDetails: details }), true) });
    await rig.settle();
    expect(rig.snap().holds).toMatchObject([{ cause: 'cooldown', leftMs: 60_000 }]);
    await rig.to(60_000);
    await rig.rest();
  });

  const body = { status: 200, errors: [{ type: 'RATE_LIMITED', message: 'x' }] };

  it('B49: a refusal inside a good answer, by a classifier that the policy names', async () => {
    const rig = new Rig(configS({ classify: 'graphql' }));
    const call = rig.call({ fn: () => body });
    await rig.settle();
    expect(call.value).toBe(body);
    expect(rig.alerts).toHaveLength(1);
    const next = rig.call();
    await rig.to(1_999);
    expect(next.state).toBe('waiting');
    await rig.to(2_000);
    expect(next.startedMs).toBe(2_000);
    await rig.rest();
  });

  it('B49: a hook that throws breaks no call and is told once', async () => {
    const classify: Classifier = () => {
      throw new Error('no such field');
    };
    const rig = new Rig(configS(), { classify: { api: classify } });
    const calls = rig.callMany(3, { fn: () => body });
    await rig.settle();
    expect(calls.map(({ value }) => value)).toEqual([body, body, body]);
    expect(failures(rig)).toEqual(['no such field']);
    expect(rig.alerts).toEqual([]);
    await rig.rest();
  });

  const result = { isError: true, content: [{ type: 'text', text: 'Too many requests, retry in 35 s' }] };

  it.each([
    ['named by the policy', configS({ classify: 'mcpToolResult' }), {}],
    ['passed', configS(), { classify: { api: mcpToolResult() } }],
  ])('B50: a tool that says it in words holds back its downstream: a classifier %s', async (_, config, options) => {
    const rig = new Rig(config, options);
    const call = rig.call({ fn: () => result });
    await rig.settle();
    expect(call.value).toBe(result);
    expect(rig.alerts).toHaveLength(1);
    expect(rig.snap().holds).toMatchObject([{ cause: 'retry-after', leftMs: 35_000 }]);
    await rig.to(35_000);
    await rig.rest();
  });

  it('B50: without one, text is an answer like any other', async () => {
    const rig = new Rig(configS());
    const call = rig.call({ fn: () => result });
    await rig.settle();
    expect(call.value).toBe(result);
    expect([rig.alerts, rig.snap().holds, rig.snap().totals.settled.success]).toEqual([[], [], 1]);
    await rig.rest();
  });

  it("B50: Penstock's own refusal can be made a tool's message", async () => {
    const rig = new Rig(configS());
    await rig.drain();
    rig.dispatcher.report('api', { status: 429, retryAfterMs: 35_000 });
    const call = rig.call({ deadlineIn: 1_000, tool: 'status' });
    await rig.settle();
    const { code, downstream, retryAfterMs, expectedWaitMs } = call.refusal;
    expect({ code, downstream }).toEqual({ code: 'DEADLINE_EXCEEDED', downstream: 'api' });
    expect(retryAfterMs).toBeGreaterThanOrEqual(34_000);
    expect(expectedWaitMs).toBeGreaterThanOrEqual(35_000);
    expect(explain(call.error)).toMatchObject({ code: 'DEADLINE_EXCEEDED', retryable: true, started: false });
    await rig.to(35_000);
    await rig.rest();
  });

  it('headers that are reported alone hold back what starts, and raise no alert', async () => {
    const rig = new Rig(configS());
    rig.dispatcher.report('api', new Headers({ 'retry-after': '7' }));
    const next = rig.call();
    await rig.to(6_999);
    expect([next.state, rig.alerts]).toEqual(['waiting', []]);
    await rig.to(7_000);
    expect(next.startedMs).toBe(7_000);
    await rig.rest();
  });
});
