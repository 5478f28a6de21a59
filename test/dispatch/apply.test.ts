import { describe, expect, it } from 'vitest';
import { createDispatcher } from '../../src/dispatcher.ts';
import type { PolicyInput } from '../../src/policy/input.ts';
import { windowMax } from '../../src/testing.ts';
import { Lab } from './support/lab.ts';

describe('apply', () => {
  it('puts a whole policy in force, tells each change, and returns them all', async () => {
    const lab = new Lab({ api: { quota: '60/minute' }, old: {} });
    lab.dispatcher.register('dynamic', {});
    const before = lab.dispatcher.snapshot().policyHash;
    lab.events.length = 0;
    const changes = lab.apply({ api: { quota: '120/minute', maxConcurrent: 3 }, fresh: { owner: 'x' } });
    const { policyHash } = lab.dispatcher.snapshot();
    expect(policyHash).not.toBe(before);
    expect(lab.dispatcher.names()).toEqual(['api', 'fresh']);
    expect(changes).toEqual(
      expect.arrayContaining([
        { downstream: 'api', path: 'quota', from: '60/minute', to: '120/minute' },
        { downstream: 'api', path: 'maxConcurrent', from: undefined, to: 3 },
        { downstream: 'old', path: '', from: expect.anything(), to: undefined },
        { downstream: 'dynamic', path: '', from: expect.anything(), to: undefined },
        { downstream: 'fresh', path: '', from: undefined, to: expect.anything() },
      ]),
    );
    expect(lab.events.map(({ type, downstream }) => [type, downstream])).toEqual(
      ['api', 'old', 'dynamic', 'fresh'].map((name) => ['policy-changed', name]),
    );
    for (const event of lab.events) expect(event).toMatchObject({ hash: policyHash });
    expect(lab.apply({ api: { quota: '120/minute', maxConcurrent: 3 }, fresh: { owner: 'x' } })).toEqual([]);
    expect(
      createDispatcher(
        { downstreams: { api: { quota: '120/minute', maxConcurrent: 3 }, fresh: { owner: 'x' } } },
        { env: {} },
      ).snapshot().policyHash,
    ).toBe(policyHash);
  });

  it('changes nothing where anything is wrong: a rule, a classifier, a promise, the environment', async () => {
    const lab = new Lab({ api: { quota: '60/minute' } }, { env: { PENSTOCK__API__MAX_WAIT: '20s' } });
    const before = JSON.stringify(lab.dispatcher.snapshot().downstreams);
    const bad: [unknown, RegExp][] = [
      [{ downstreams: { api: { quota: '120/minute' }, b: { quota: '1/minute', burst: 9 } } }, /burst/],
      [{ downstreams: { api: { quota: '120/minute', classify: 'mine' } } }, /unknown classifier "mine"/],
      [Promise.resolve({ downstreams: {} }), /write await loadPolicy/],
      ['config/downstreams.yaml', /write await loadPolicy/],
      [{ downstreams: { b: {} } }, /no downstream is called API/],
      [undefined, /expected an object/],
    ];
    for (const [policy, message] of bad) expect(() => lab.dispatcher.apply(policy as PolicyInput)).toThrow(message);
    expect(JSON.stringify(lab.dispatcher.snapshot().downstreams)).toBe(before);
    expect(lab.events).toEqual([]);
    lab.apply({ api: { quota: '120/minute' } });
    await lab.clock.advance(0);
    lab.make(200);
    await lab.clock.advance(0);
    expect(lab.errors[0]).toMatchObject({ code: 'RATE_LIMIT_QUEUE_TIMEOUT' });
  });

  it('defaults and suggestions follow the new policy, and a closed dispatcher takes none', async () => {
    const lab = new Lab({ api: {} });
    lab.dispatcher.apply({ defaults: { owner: 'platform' }, downstreams: { api: {} } });
    lab.dispatcher.register('late', {});
    expect(lab.events.at(-1)).toMatchObject({ changes: [{ to: { owner: 'platform' } }] });
    await lab.dispatcher.close({ within: 0 });
    expect(() => lab.apply({ api: {} })).toThrow(/policy: not applied, the dispatcher is closed/);
  });

  it('may be called by whoever hears of a refusal of it: the later one stands', async () => {
    const lab = new Lab({ api: { quota: '100 tokens/minute', defaultCost: { tokens: 50 } }, b: { owner: 'a' } });
    lab.make(5);
    await lab.clock.advance(0);
    lab.dispatcher.subscribe((event) => {
      if (event.type === 'refused') lab.apply({ api: { quota: '77/minute' }, b: { owner: 'c' } });
    });
    lab.apply({ api: { quota: '20 tokens/minute', defaultCost: { tokens: 20 } }, b: { owner: 'b' } });
    lab.make(1, { cost: { tokens: 50 } });
    await lab.clock.advance(0);
    expect(lab.snap()?.quotas.map(({ quota }) => quota)).toEqual(['77/minute']);
    const same = createDispatcher(
      { downstreams: { api: { quota: '77/minute' }, b: { owner: 'c' } } },
      { env: {}, alertSinks: [] },
    );
    expect(lab.dispatcher.snapshot().policyHash).toBe(same.snapshot().policyHash);
  });

  it('refuses those that can never fit any more, and keeps all others', async () => {
    const lab = new Lab({ api: { quota: '100/minute' } });
    lab.make(1, { cost: { requests: 50 } });
    lab.make(3, { cost: { requests: 40 } });
    lab.make(300, { cost: { requests: 1 } });
    await lab.clock.advance(0);
    lab.apply({ api: { quota: '30/minute' } });
    await lab.clock.advance(0);
    expect(lab.errors.map((error) => (error as { code: string }).code)).toEqual(
      Array(lab.errors.length).fill('COST_EXCEEDS_QUOTA'),
    );
    const waiting = lab.snap()!.queued;
    expect(waiting + lab.errors.length + lab.starts.length).toBe(304);
    await lab.clock.advance(3_600_000);
    expect(lab.starts.length + lab.errors.length).toBe(304);
  });
});

describe('a downstream that is gone', () => {
  it('takes no new calls; what waits in it still runs, at its old pace', async () => {
    const lab = new Lab({ api: { quota: '60/minute' } });
    lab.make(20);
    await lab.clock.advance(0);
    expect(lab.starts).toHaveLength(6);
    lab.apply({});
    lab.make(1);
    await lab.clock.advance(0);
    expect(lab.errors).toMatchObject([{ code: 'UNKNOWN_DOWNSTREAM' }]);
    await lab.clock.advance(60_000);
    expect(lab.starts).toHaveLength(20);
    expect(windowMax(lab.starts, 60_000)).toBeLessThanOrEqual(53);
    expect(lab.clock.pendingTimers).toBe(0);
  });

  it('that comes back, draining or at rest, has the level that it left with', async () => {
    for (const waiting of [0, 10]) {
      const lab = new Lab({ api: { quota: '60/minute' } });
      lab.make(6 + waiting);
      await lab.clock.advance(0);
      for (let n = 0; n < 10; n++) {
        lab.apply({});
        await lab.clock.advance(10);
        lab.apply({ api: { quota: '60/minute' } });
        lab.make(20);
        await lab.clock.advance(0);
      }
      expect(lab.starts).toHaveLength(6);
      await lab.clock.advance(600_000);
      expect(lab.starts).toHaveLength(206 + waiting);
      expect(windowMax(lab.starts, 60_000)).toBeLessThanOrEqual(53);
    }
  });

  it('keeps its holds and its accounts; whoever unregisters it forgets it', async () => {
    const lab = new Lab({ api: { quota: '60/minute' } });
    lab.make(6, { account: 'a' });
    lab.dispatcher.report('api', { status: 429, retryAfterMs: 30_000 });
    await lab.clock.advance(0);
    lab.apply({});
    await lab.clock.advance(1);
    lab.dispatcher.register('api', { quota: '60/minute' });
    lab.make(1, { account: 'a' });
    expect(lab.snap()).toMatchObject({ accounts: 1, queued: 1, holds: [{ cause: 'retry-after' }] });
    lab.dispatcher.unregister('api');
    lab.dispatcher.register('api', { quota: '60/minute' });
    expect(lab.snap()).toMatchObject({ accounts: 0, holds: [] });
  });

  it('is closed with the rest', async () => {
    const lab = new Lab({ api: { quota: '60/minute' } });
    lab.make(20);
    await lab.clock.advance(0);
    lab.apply({});
    const report = lab.dispatcher.close({ within: '1s' });
    await lab.clock.advance(1_000);
    expect(await report).toMatchObject({ refused: 14, abandoned: 0 });
    expect(lab.clock.pendingTimers).toBe(0);
  });
});
