import { describe, expect, it } from 'vitest';
import { CallCancelled, isAdmissionError } from '../../src/base/errors.ts';
import type { CallContext } from '../../src/dispatch/context.ts';
import { createDispatcher, type Dispatcher } from '../../src/dispatcher.ts';
import { explain } from '../../src/explain.ts';
import type { PolicyInput } from '../../src/policy/input.ts';
import { ManualClock } from '../../src/testing.ts';

function lab() {
  const clock = new ManualClock();
  const policy: PolicyInput = { downstreams: { api: { quota: '60/minute' }, mail: { quota: '60/minute' } } };
  const dispatcher = createDispatcher(policy, { clock, alertSinks: [], env: {} });
  const errors: unknown[] = [];
  const started: (string | undefined)[] = [];
  const call = (ctx: CallContext, to = 'api'): void => {
    dispatcher.callDownstream(to, () => void started.push(ctx.runId), ctx).catch((error) => errors.push(error));
  };
  for (let i = 0; i < 6; i++) {
    call({ runId: 'first' });
    call({ runId: 'first' }, 'mail');
  }
  return { clock, dispatcher, errors, started, call };
}

describe('cancel', () => {
  it('refuses what waits of a run and below it, in all downstreams and accounts, and nothing else', async () => {
    const { clock, dispatcher, errors, started, call } = lab();
    for (const runId of ['job7', 'job7/sub1', 'job7/sub1/deep/er', 'job77', 'other']) call({ runId });
    call({});
    call({ runId: 'job7', deadline: clock.wallNow() + 30_000 }, 'mail');
    for (let i = 0; i < 8; i++) call({ runId: 'job7/a', account: 'a' });
    await clock.advance(500);
    const running = started.length;
    expect(dispatcher.cancel({ runId: 'job7' }, 'the customer has gone')).toBe(3 + 1 + 2);
    await clock.advance(0);
    expect(errors).toHaveLength(6);
    for (const error of errors) {
      expect(error).toBeInstanceOf(CallCancelled);
      expect(error).toMatchObject({
        code: 'CANCELLED',
        retryable: false,
        started: false,
        reason: 'the customer has gone',
        waitedMs: 500,
      });
      expect(isAdmissionError(error)).toBe(true);
      expect(explain(error)).toMatchObject({ code: 'CANCELLED', retryable: false, started: false });
    }
    expect((errors[0] as Error).message).toBe(
      'api: cancelled by the operator after 500 ms in line: the customer has gone. It never ran. Do not repeat it unless it is still wanted.',
    );
    expect(JSON.parse(JSON.stringify(errors[0]))).toMatchObject({ reason: 'the customer has gone', runId: 'job7' });
    await clock.advance(60_000);
    expect(started.slice(running).sort()).toEqual(['job77', 'other', undefined].sort());
    expect(clock.pendingTimers).toBe(0);
    expect(dispatcher.snapshot().downstreams[0]?.totals.refused).toEqual({ CANCELLED: 5 });
  });

  it('narrows by tool and downstream; later calls of the same run are not refused', async () => {
    const { clock, dispatcher, errors, started, call } = lab();
    for (const tool of ['read', 'write']) for (const to of ['api', 'mail']) call({ runId: 'r', tool }, to);
    await clock.advance(0);
    expect(dispatcher.cancel({ tool: 'write', downstream: 'mail' }, 'x')).toBe(1);
    expect(dispatcher.cancel({ runId: 'r', tool: 'write' }, 'x')).toBe(1);
    expect(dispatcher.cancel({ runId: 'nobody' }, 'x')).toBe(0);
    expect(dispatcher.cancel({ runId: 'r/' }, 'x')).toBe(0);
    call({ runId: 'r', tool: 'write' });
    await clock.advance(60_000);
    expect(errors).toHaveLength(2);
    expect(started.filter((run) => run === 'r')).toHaveLength(3);
  });

  it('reaches what waits in a downstream that is gone', async () => {
    const { clock, dispatcher, errors, call } = lab();
    call({ runId: 'r' });
    call({ runId: 'r' });
    await clock.advance(0);
    (dispatcher as Dispatcher).apply({ downstreams: {} });
    expect(dispatcher.cancel({ runId: 'r', downstream: 'api' }, 'x')).toBe(2);
    await clock.advance(0);
    expect(errors).toHaveLength(2);
  });

  const wrong: [string, unknown, unknown, RegExp][] = [
    ['neither run nor tool', { downstream: 'api' }, 'x', /expected a runId or a tool .*pause it.*found neither/],
    ['a misspelt field', { runid: 'r' }, 'x', /runid: expected runId/],
    ['a field more', { runId: 'r', account: 'a' }, 'x', /account: expected runId, tool, downstream/],
    ['no text', { runId: 7 }, 'x', /runId: expected a name, found 7/],
    ['an empty run', { runId: '' }, 'x', /runId: expected a name, found ""/],
    ['no reason', { runId: 'r' }, undefined, /reason: expected a text, found undefined/],
    ['a blank reason', { runId: 'r' }, ' ', /reason: expected a text/],
    ['nothing', undefined, 'x', /which: expected \{ runId, tool, downstream \}/],
    [
      'an unknown downstream',
      { runId: 'r', downstream: 'aip' },
      'x',
      /unknown downstream "aip" \(did you mean "api"\?\)/,
    ],
  ];
  it.each(wrong)('says what is wrong: %s', (_what, which, reason, message) => {
    const { dispatcher } = lab();
    expect(() => dispatcher.cancel(which as never, reason as never)).toThrow(message);
  });

  it('of 10,000 they leave the queue in the first step, and hear of it in slices', async () => {
    const { clock, dispatcher, errors, call } = lab();
    for (let i = 0; i < 10_000; i++) call({ runId: `job/${i % 100}` });
    call({ runId: 'other' });
    await clock.advance(0);
    expect(dispatcher.cancel({ runId: 'job' }, 'x')).toBe(10_000);
    expect(dispatcher.cancel({ runId: 'job' }, 'x')).toBe(0);
    await clock.advance(1_250);
    expect(errors).toHaveLength(10_000);
    expect(dispatcher.snapshot().downstreams[0]).toMatchObject({
      queued: 0,
      top: { runs: [{ name: 'first' }, { name: 'other', waiting: 0, permits: 1 }] },
    });
  });
});
