import { describe, expect, it } from 'vitest';
import { FakeDownstream, type FakeDownstreamOptions } from '../../src/testing/fake-downstream.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';

function make(options: Omit<FakeDownstreamOptions, 'clock'>) {
  const clock = new ManualClock();
  const server = new FakeDownstream({ clock, ...options });
  /** Calls at the given instants; `.` for each 200, `x` for each 429. */
  const run = async (instants: number[]): Promise<string> => {
    let seen = '';
    for (const atMs of instants) {
      await clock.advance(atMs - clock.now());
      seen += server.call().status === 200 ? '.' : 'x';
    }
    return seen;
  };
  return { clock, server, run };
}

describe('a sliding window', () => {
  it('allows its limit in any window, and again when the oldest is a whole window old', async () => {
    const { run } = make({ limit: 3, windowMs: 1_000 });
    expect(await run([0, 400, 800, 900, 999.9, 1_000, 1_001, 1_400])).toBe('...xx.x.');
  });

  it('takes what differs by rounding alone for a whole window, and no more than that', async () => {
    expect(await make({ limit: 1, windowMs: 1_000 }).run([0, 999.999_5])).toBe('..');
    expect(await make({ limit: 1, windowMs: 1_000 }).run([0, 999.998])).toBe('.x');
  });

  it('forgets old calls over a long run', async () => {
    const { server, run } = make({ limit: 10, windowMs: 1_000 });
    expect(await run(Array.from({ length: 5_000 }, (_, n) => n * 100))).toBe('.'.repeat(5_000));
    expect(server.maxInAnyWindow(1_000)).toBe(10);
  });
});

describe('a fixed window', () => {
  it('starts anew at every multiple of the window, whatever came just before', async () => {
    const { run } = make({ limit: 2, windowMs: 1_000, kind: 'fixed' });
    expect(await run([990, 995, 999, 1_000, 1_001, 1_002, 2_000])).toBe('..x..x.');
  });

  it('begins where its phase says', async () => {
    const { run } = make({ limit: 1, windowMs: 1_000, kind: 'fixed', phaseMs: 300 });
    expect(await run([0, 299, 300, 1_299, 1_300])).toBe('.x.x.');
  });
});

describe('a bucket', () => {
  it('is full at first and refills evenly, never above its size', async () => {
    const { run } = make({ limit: 10, windowMs: 1_000, kind: 'bucket', size: 3 });
    expect(await run([0, 0, 0, 0, 99, 100, 150, 200, 9_000, 9_000, 9_000, 9_000])).toBe('...xx.x....x');
  });
});

describe('several limits', () => {
  const both = {
    limits: [
      { limit: 60, windowMs: 60_000 },
      { limit: 10, windowMs: 10_000 },
    ],
  };

  it('all of them must allow a call, and a refusal uses up none of them', async () => {
    const { server, run } = make(both);
    expect(await run(Array.from({ length: 48 }, () => 0))).toBe('.'.repeat(10) + 'x'.repeat(38));
    expect(server.call().headers.get('retry-after')).toBe('10');
    expect(await run(Array.from({ length: 12 }, () => 10_000))).toBe(`${'.'.repeat(10)}xx`);
  });

  it('may count what it refused', async () => {
    const { run } = make({ limit: 1, windowMs: 1_000, countsRefused: true });
    expect(await run([0, 500, 1_000, 1_400, 2_400])).toBe('.xxx.');
  });
});

describe('what a refused caller is told', () => {
  async function hint(options: Partial<FakeDownstreamOptions>, cost = 1): Promise<string | null> {
    const { clock, server } = make({ limit: 10, windowMs: 1_500, ...options });
    server.call('us', 10);
    await clock.advance(250);
    const refused = server.call('us', cost);
    expect(refused.status).toBe(429);
    return refused.headers.get('retry-after');
  }

  it('is when the call would fit: seconds rounded up, with a fraction, nothing, or what you say', async () => {
    expect(await hint({})).toBe('2');
    expect(await hint({ retryAfter: 'fraction' })).toBe('1.25');
    expect(await hint({ retryAfter: 'none' })).toBeNull();
    expect(await hint({ retryAfter: ({ retryAfterMs }) => ({ 'retry-after': `${retryAfterMs}x` }) })).toBe('1250x');
  });

  it('is nothing where it can never fit', async () => {
    expect(await hint({}, 11)).toBeNull();
    expect(await hint({ kind: 'fixed' }, 11)).toBeNull();
    expect(await hint({ kind: 'bucket' }, 11)).toBeNull();
  });

  it.each(['sliding', 'fixed', 'bucket'] as const)(
    'is the truth (%s): refused 1 ms before, let in then',
    async (kind) => {
      const { clock, server } = make({ limit: 10, windowMs: 1_500, kind, retryAfter: 'fraction' });
      server.call('us', 10);
      await clock.advance(250);
      const waitMs = Number(server.call('us', 4).headers.get('retry-after')) * 1_000;
      await clock.advance(waitMs - 1);
      expect(server.call('us', 4).status).toBe(429);
      await clock.advance(1);
      expect(server.call('us', 4).status).toBe(200);
    },
  );
});

describe('what it says of its limits', () => {
  const headersOf = (response: Response): Record<string, string> => Object.fromEntries(response.headers);

  it.each([
    ['sliding', 57, 60_000, 50],
    ['fixed', 57, 60_000, 50],
    ['bucket', 57, 3_000, 0],
  ] as const)('the truth of a %s one, in both forms', async (kind, remaining, resetMs, later) => {
    for (const headers of ['ietf', 'x-ratelimit'] as const) {
      const { clock, server } = make({ limit: 60, windowMs: 60_000, kind, headers });
      server.call();
      server.call();
      const said = (left: number, ms: number) =>
        headers === 'ietf'
          ? { 'ratelimit-policy': '"limit-1";q=60;w=60', ratelimit: `"limit-1";r=${left};t=${ms / 1_000}` }
          : {
              'x-ratelimit-limit': '60',
              'x-ratelimit-remaining': String(left),
              'x-ratelimit-reset': String(ms / 1_000),
            };
      expect(headersOf(server.call())).toEqual(said(remaining, resetMs));
      await clock.advance(10_000);
      const isBucket = kind === 'bucket';
      expect(headersOf(server.call())).toEqual(said(isBucket ? 59 : 56, isBucket ? 1_000 : later * 1_000));
    }
  });

  it('of several all, or the tightest; never a hidden one; on a refusal beside the hint', () => {
    const limits = [
      { limit: 60, windowMs: 60_000, name: 'minute' },
      { limit: 4, windowMs: 10_000 },
      { limit: 3, windowMs: 1_000, isHidden: true },
    ];
    const ietf = make({ limits, headers: 'ietf' }).server;
    expect(headersOf(ietf.call()).ratelimit).toBe('"minute";r=59;t=60, "limit-2";r=3;t=10');
    const plain = make({ limits, headers: 'x-ratelimit' }).server;
    for (let n = 0; n < 3; n++) plain.call();
    expect(headersOf(plain.call())).toEqual({
      'retry-after': '1',
      'x-ratelimit-limit': '4',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '10',
    });
  });

  it('in headers of your own', () => {
    const { server } = make({
      limit: 60,
      windowMs: 60_000,
      kind: 'bucket',
      size: 20,
      headers: ([quota]) => ({ 'x-quota': JSON.stringify(quota) }),
    });
    expect(JSON.parse(headersOf(server.call())['x-quota'] ?? '')).toEqual({
      name: 'limit-1',
      limit: 60,
      windowMs: 60_000,
      room: 20,
      remaining: 19,
      resetMs: 1_000,
    });
  });
});

describe('a limit that changes', () => {
  it.each(['sliding', 'fixed', 'bucket'] as const)(
    'now, or at an instant; what was counted stays (%s)',
    async (kind) => {
      const { clock, server } = make({ limit: 10, windowMs: 60_000, kind, headers: 'x-ratelimit' });
      for (let n = 0; n < 4; n++) server.call();
      server.setLimit(3);
      expect(server.call().status).toBe(kind === 'bucket' ? 200 : 429);
      server.setLimit(20, { atMs: 5_000 });
      await clock.advance(4_999);
      expect(server.call().headers.get('x-ratelimit-limit')).toBe('3');
      await clock.advance(1);
      expect(server.call().status).toBe(200);
      expect(server.call().headers.get('x-ratelimit-limit')).toBe('20');
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('is one that there is, and above 0', () => {
    const { server } = make({ limit: 10, windowMs: 60_000 });
    expect(() => server.setLimit(0)).toThrow(/limit: expected a number above 0/);
    expect(() => server.setLimit(1, { index: 1 })).toThrow(/there is no limit 1/);
  });
});

describe('other consumers', () => {
  it('call at their own pace, share the quota, and are counted apart', async () => {
    const { clock, server } = make({ limit: 2, windowMs: 1_000 });
    server.addConsumer({ name: 'sync', everyMs: 400, phaseMs: 100 });
    const stop = server.addConsumer({ name: 'cron', everyMs: 1_000 });
    await clock.advance(950);
    expect(server.starts('sync')).toEqual([100, 500, 900]);
    expect(server.call().status).toBe(429);
    expect(server.count({ consumer: 'sync', status: 200 })).toBe(2);
    expect(server.count({ status: 429 })).toBe(2);
    stop();
    await clock.advance(10_000);
    expect(server.count({ consumer: 'cron' })).toBe(0);
    expect(server.count()).toBe(server.calls.length);
    expect([clock.pendingTimers, clock.idleTimers, clock.violations]).toEqual([0, 1, []]);
  });

  it('call at once where the phase is 0', async () => {
    const { clock, server } = make({ limit: 2, windowMs: 1_000 });
    server.addConsumer({ name: 'sync', everyMs: 500, phaseMs: 0 });
    await clock.advance(1_000);
    expect(server.starts()).toEqual([0, 500, 1_000]);
    expect([server.maxInAnyWindow(1_000), server.maxInAnyWindow(1_001), server.maxInAnyWindow(9, 'us')]).toEqual([
      2, 3, 0,
    ]);
    expect(clock.violations).toEqual([]);
  });
});

describe('scripted answers', () => {
  it('come before any quota, use none of it, and concern us alone', () => {
    const { server } = make({ limit: 1, windowMs: 1_000 });
    server.answerNext(2, 503, { 'retry-after': '7' });
    expect(server.call('sync').status).toBe(200);
    expect(server.call().headers.get('retry-after')).toBe('7');
    expect([server.call().status, server.call().status]).toEqual([503, 429]);
  });
});

describe('options', () => {
  it.each([
    [{ limit: 0, windowMs: 1 }, /limit: expected a number above 0, found 0/],
    [{ limit: 1, windowMs: Number.NaN }, /windowMs: .* NaN/],
    [{ limit: 1, windowMs: 1, size: -1 }, /size: .* -1/],
    [{ limit: 1 }, /together/],
  ])('%j is refused', (options, message) => {
    expect(() => make(options)).toThrow(message);
  });

  it('without any limit everything is let in; a consumer needs a pace', () => {
    const { server } = make({ cost: 1_000 });
    expect(server.call().status).toBe(200);
    expect(server.calls[0]).toEqual({ consumer: 'us', atMs: 0, cost: 1_000, status: 200 });
    expect(() => server.addConsumer({ name: 'x', everyMs: 0 })).toThrow(/everyMs/);
  });
});
