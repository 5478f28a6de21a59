import { describe, expect, test } from 'vitest';
import { type AdmissionError, createDispatcher, type DispatcherOptions, type PolicyInput } from '../../src/index.ts';
import { FakeDownstream, ManualClock } from '../../src/testing.ts';
import { runBlock } from './support/example.ts';
import { blockAt } from './support/pages.ts';

const PAGE = 'docs/recipes.md';
const MINUTE = 60_000;

/** A carrier that allows 60 a minute, a lane for it, and a clock that is moved by hand. */
function rig(policy: PolicyInput['downstreams'][string] = { quota: '60/minute' }) {
  const clock = new ManualClock();
  const server = new FakeDownstream({ clock, limit: 60, windowMs: MINUTE });
  const dispatcher = createDispatcher<PolicyInput>({ downstreams: { carrier: policy } }, silent(clock));
  return { clock, server, ...dispatcher, askCarrier: async () => server.call() };
}

function silent(clock: ManualClock): DispatcherOptions {
  return { clock, alertSinks: [], env: {} };
}

async function recipe<Exports>(title: string, clock: ManualClock, given: Record<string, unknown>, packages = {}) {
  return (await runBlock<Exports>(blockAt(PAGE, 'ts', title), { clock, given, packages })).exports;
}

const refused = (promise: Promise<unknown>) => promise.then(String, (error: { code?: string }) => error.code);

describe('Retry without sleeping', () => {
  type Recipe = { deliveryStatus: (id: string, deadline: number) => Promise<Response> };

  test('the next attempt starts when the service said, and takes a permit', async () => {
    const { clock, server, callDownstream, askCarrier } = rig();
    const { deliveryStatus } = await recipe<Recipe>('Retry without sleeping', clock, { callDownstream, askCarrier });
    server.answerNext(1, 429, { 'retry-after': '7' });
    const answer = deliveryStatus('T-1', clock.wallNow() + MINUTE);
    await clock.advance(10_000);
    expect((await answer).status).toBe(200);
    expect(server.starts()).toEqual([0, 7_000]);
  });

  test('the deadline bounds the whole; three times are enough', async () => {
    const { clock, server, callDownstream, askCarrier } = rig();
    const { deliveryStatus } = await recipe<Recipe>('Retry without sleeping', clock, { callDownstream, askCarrier });
    server.answerNext(9, 429, { 'retry-after': '7' });
    expect(await refused(deliveryStatus('T-1', clock.wallNow() + 5_000))).toBe('DEADLINE_EXCEEDED');
    const answer = deliveryStatus('T-1', clock.wallNow() + 10 * MINUTE);
    await clock.advance(10 * MINUTE);
    expect((await answer).status).toBe(429);
    expect(server.count()).toBe(4);
  });
});

describe('Absorb a pause', () => {
  test('work with time to spare waits it out', async () => {
    const { clock, server, pause, callDownstream, askCarrier } = rig();
    pause('carrier', { for: '30m' });
    const { nightlyStatus } = await recipe<{ nightlyStatus: (id: string) => Promise<Response> }>(
      'Absorb a pause',
      clock,
      { callDownstream, askCarrier },
    );
    const answer = nightlyStatus('T-1');
    await clock.advance(30 * MINUTE);
    expect((await answer).status).toBe(200);
    expect(server.starts()).toEqual([30 * MINUTE]);
  });

  describe('work that is given back', () => {
    const JOBS = 200;
    const WORKERS = 4;

    /** Workers as an operator runs them: each begins again when it said it would. */
    async function workedOff(hold: (dispatcher: ReturnType<typeof rig>) => void) {
      const lane = rig();
      const { clock, callDownstream, askCarrier, server } = lane;
      hold(lane);
      const queue = Array.from({ length: JOBS }, (_, n) => `T-${n}`);
      const jobs = { take: async () => queue.shift(), putBack: async (id: string) => void queue.push(id) };
      let attempts = 0;
      const counted: typeof callDownstream = (...call) => {
        attempts += 1;
        return callDownstream(...(call as Parameters<typeof callDownstream>)) as never;
      };
      const given = { callDownstream: counted, askCarrier, jobs };
      const { work } = await recipe<{ work: () => Promise<number | undefined> }>('Absorb a pause #2', clock, given);
      const rests: number[] = [];
      const run = async (): Promise<void> => {
        const restMs = await work();
        if (restMs === undefined) return;
        rests.push(restMs);
        clock.setTimer(restMs, () => void run());
      };
      for (let n = 0; n < WORKERS; n += 1) void run();
      await clock.advance(60 * MINUTE);
      return { attempts, rests, server, left: queue.length };
    }

    test('a pause costs one attempt per worker, not one per job', async () => {
      const { attempts, rests, server, left } = await workedOff(({ pause }) => pause('carrier', { for: '30m' }));
      expect(rests).toEqual(Array.from({ length: WORKERS }, () => 30 * MINUTE));
      expect([left, attempts, server.count({ status: 200 })]).toEqual([0, JOBS + WORKERS, JOBS]);
      expect(server.maxInAnyWindow(MINUTE)).toBeLessThanOrEqual(53);
    });

    test('without one nothing is refused', async () => {
      const { attempts, rests, left } = await workedOff(() => undefined);
      expect([left, attempts, rests]).toEqual([0, JOBS, []]);
    });

    test('why jobs must not come back by themselves: all of them are told the same instant', async () => {
      const { clock, pause, callDownstream } = rig();
      pause('carrier', { for: '30m' });
      const deadline = clock.wallNow() + MINUTE;
      const told = await Promise.all(
        Array.from({ length: 50 }, () =>
          callDownstream('carrier', () => 0, { deadline }).catch((error: AdmissionError) => error.retryAfterMs),
        ),
      );
      expect(new Set(told).size).toBe(1);
    });
  });
});

describe('Answer from a stale copy when refused', () => {
  type Recipe = { deliveryStatus: (id: string) => Promise<{ status: string; isStale: boolean }> };
  const title = 'Answer from a stale copy when refused';

  test('a copy where there is one, at once', async () => {
    const { clock, pause, callDownstream } = rig();
    const readStatus = async () => 'on its way';
    const { deliveryStatus } = await recipe<Recipe>(title, clock, { callDownstream, readStatus });
    expect(await deliveryStatus('T-1')).toEqual({ status: 'on its way', isStale: false });
    pause('carrier', { for: '1m' });
    expect(await deliveryStatus('T-1')).toEqual({ status: 'on its way', isStale: true });
    expect(await refused(deliveryStatus('T-2'))).toBe('DEADLINE_EXCEEDED');
  });

  test('a call that has run too long is no refusal either', async () => {
    const { clock, callDownstream } = rig();
    let answer: Promise<string> = Promise.resolve('on its way');
    const { deliveryStatus } = await recipe<Recipe>(title, clock, { callDownstream, readStatus: () => answer });
    await deliveryStatus('T-1');
    answer = new Promise(() => undefined);
    const late = refused(deliveryStatus('T-1'));
    await clock.advance(2_000);
    expect(await late).toBe('DEADLINE_EXCEEDED');
  });

  test('what the service itself says is no refusal', async () => {
    const { clock, callDownstream } = rig();
    let answer = (): string => 'on its way';
    const { deliveryStatus } = await recipe<Recipe>(title, clock, { callDownstream, readStatus: async () => answer() });
    await deliveryStatus('T-1');
    answer = () => {
      throw new Error('no such ticket');
    };
    await expect(deliveryStatus('T-1')).rejects.toThrow('no such ticket');
  });
});

describe('A circuit breaker around it', () => {
  type Recipe = { deliveryStatus: (id: string) => Promise<string> };

  test('five failures open it: no permit is taken then', async () => {
    const { clock, callDownstream, snapshot } = rig();
    const readStatus = async (): Promise<string> => {
      throw new Error('down');
    };
    const given = { callDownstream, readStatus };
    const { deliveryStatus } = await recipe<Recipe>('A circuit breaker around it', clock, given);
    for (let n = 0; n < 5; n += 1) await expect(deliveryStatus('T-1')).rejects.toThrow('down');
    await expect(deliveryStatus('T-1')).rejects.toThrow(/breaker is open/);
    expect(snapshot().downstreams[0]?.totals.started).toBe(5);
  });

  test('refusals do not', async () => {
    const { clock, callDownstream, pause, resume } = rig();
    const given = { callDownstream, readStatus: async () => 'on its way' };
    const { deliveryStatus } = await recipe<Recipe>('A circuit breaker around it', clock, given);
    pause('carrier', { for: '1m' });
    for (let n = 0; n < 9; n += 1) expect(await refused(deliveryStatus('T-1'))).toBe('DEADLINE_EXCEEDED');
    resume('carrier');
    expect(await deliveryStatus('T-1')).toBe('on its way');
  });
});

describe('Single flight', () => {
  test('forty who ask at once are one call; who asks later is another', async () => {
    const { clock, callDownstream, snapshot } = rig();
    let asked = 0;
    const readStatus = async () => `answer ${++asked}`;
    const { deliveryStatus } = await recipe<{ deliveryStatus: (id: string) => Promise<string> }>(
      'Single flight',
      clock,
      { callDownstream, readStatus },
    );
    const answers = await Promise.all(Array.from({ length: 40 }, () => deliveryStatus('T-1')));
    expect(new Set(answers)).toEqual(new Set(['answer 1']));
    expect(await deliveryStatus('T-1')).toBe('answer 2');
    expect(snapshot().downstreams[0]?.totals.started).toBe(2);
  });
});

describe('A lane without a known quota', () => {
  test('after a 429 it holds, then starts one a second; the alert proposes a quota', async () => {
    const clock = new ManualClock();
    const { parsePolicy } = await import('../../src/policy/parse.ts');
    const { policy } = parsePolicy(blockAt(PAGE, 'yaml', 'A lane without a known quota').code, 'recipe.yaml');
    const suggestions: string[] = [];
    const packages = {
      penstock: {
        createDispatcher: (given: PolicyInput, options: DispatcherOptions) =>
          createDispatcher(given, { ...silent(clock), ...options }),
      },
    };
    const given = { policy, onSuggestion: (text: string) => suggestions.push(text) };
    const { callDownstream } = await recipe<ReturnType<typeof rig>>(
      'A lane without a known quota',
      clock,
      given,
      packages,
    );
    const server = new FakeDownstream({ clock, limit: 1_000, windowMs: MINUTE });
    for (let n = 0; n < 21; n += 1) {
      if (n === 20) server.answerNext(1, 403, { server: 'partner' });
      await callDownstream('partner', async () => server.call());
    }
    expect(suggestions).toEqual(['downstreams.partner.quota: "20/10s"']);
    void callDownstream('partner', async () => server.call());
    void callDownstream('partner', async () => server.call());
    await clock.advance(6_000);
    expect(server.starts().slice(21)).toEqual([5_000, 6_000]);
  });
});

describe('One window for an over-wide fan-out', () => {
  const title = 'One window for an over-wide fan-out';
  const ids = Array.from({ length: 800 }, (_, n) => `T-${n}`);

  test('those that fit are made, the rest comes back at once, nobody expires', async () => {
    const { clock, server, callDownstream, forecast } = rig();
    type Answer = { answers: PromiseSettledResult<Response>[]; left: string[]; allWouldTakeMs: number };
    const { statuses } = await recipe<{
      statuses: (ids: string[], deadline: number, runId: string) => Promise<Answer>;
    }>(title, clock, { callDownstream, forecast, readStatus: async () => server.call() });
    const asked = statuses(ids, clock.wallNow() + 2 * MINUTE, 'r-1');
    await clock.advance(2 * MINUTE);
    const { answers, left, allWouldTakeMs } = await asked;
    expect(answers.every(({ status }) => status === 'fulfilled')).toBe(true);
    expect([answers.length, left.length]).toEqual([102, 698]);
    expect(allWouldTakeMs).toBeCloseTo(794 * 1_250, 0);
  });

  test('a window of waiters keeps the lane as busy as all of them would', async () => {
    const { clock, server, callDownstream, snapshot } = rig();
    const { crawl } = await recipe<{ crawl: (ids: string[]) => AsyncGenerator<PromiseSettledResult<Response>> }>(
      `${title} #2`,
      clock,
      { callDownstream, readStatus: async () => server.call() },
    );
    let seen = 0;
    const reading = (async () => {
      for await (const result of crawl(ids)) if (result.status === 'fulfilled') seen += 1;
    })();
    await clock.advance(0);
    expect(snapshot().downstreams[0]?.queued).toBe(60);
    await clock.advance(794 * 1_250);
    await reading;
    expect(seen).toBe(800);
  });

  test('who stops early leaves nobody behind', async () => {
    const { clock, callDownstream, snapshot } = rig();
    const { crawl } = await recipe<{ crawl: (ids: string[], signal: AbortSignal) => AsyncGenerator }>(
      `${title} #2`,
      clock,
      { callDownstream, readStatus: async () => 'on its way' },
    );
    const controller = new AbortController();
    for await (const _ of crawl(ids, controller.signal)) break;
    controller.abort();
    expect(snapshot().downstreams[0]?.queued).toBe(0);
  });
});
