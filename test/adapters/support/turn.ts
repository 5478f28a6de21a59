import { afterEach, beforeEach } from 'vitest';
import { createDispatcher, type Dispatcher } from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';
import { CarrierServer, until } from './carrier-server.ts';

/** The six tools that a model calls at once, and what each of them meets. */
export const SIX = ['first', 'throttled', 'hurried', 'dropped', 'fifth', 'sixth'] as const;
export type Six = (typeof SIX)[number];

/** What the model is told of the call whose deadline is too near. */
export const HURRIED = {
  error: {
    code: 'DEADLINE_EXCEEDED',
    downstream: 'carrier',
    retryable: true,
    retry_after_ms: 25_000,
    message:
      'carrier: refused, the call would have to wait 30 s (limited by quota:4/minute) and its deadline allows 5 s. Come back in 25 s.',
  },
} as const;

/** What the model is told of the call that the server has throttled. */
export const THROTTLED = {
  error: {
    code: 'RATE_LIMITED',
    downstream: 'carrier',
    retryable: true,
    retry_after_ms: 90_000,
    message:
      'The downstream throttled the call (status 429): its quota is used up, and the call did no work. Try again in 90 s at the earliest.',
  },
} as const;

/** A lane that admits two at once and two a minute, in front of a server on loopback. */
export interface Turn {
  readonly clock: ManualClock;
  readonly server: CarrierServer;
  readonly dispatcher: Dispatcher<'carrier'>;
  /** Drops the call of `dropped`. */
  readonly drop: AbortController;
  /** What only a `context` function can know of a call: `hurried` has five seconds, `dropped` a signal. */
  readonly contextOf: (tool: string | undefined) => { deadline?: number; signal?: AbortSignal };
  /** Lets the six pass: two start, one of them is throttled; the rest is refused, dropped, or waits. */
  readonly play: (requests?: number) => Promise<void>;
}

/** A turn for each test of a file. */
export function turns(): () => Turn {
  let turn: Turn;
  beforeEach(async () => {
    turn = await makeTurn();
  });
  afterEach(async () => {
    await turn.dispatcher.close({ within: 0 });
    await turn.server.close();
  });
  return () => turn;
}

async function makeTurn(): Promise<Turn> {
  const clock = new ManualClock();
  const server = new CarrierServer();
  await server.listen();
  server.answers.set('/throttled', { status: 429, headers: { 'retry-after': '90' }, body: { error: 'slow down' } });
  const policy = {
    downstreams: { carrier: { quota: '4/minute', utilization: 0.5, burst: 2, maxWait: '10m' } },
  } as const;
  const dispatcher = createDispatcher(policy, { clock, alertSinks: [], env: {} });
  const drop = new AbortController();
  const contexts = {
    hurried: { deadline: clock.wallNow() + 5_000 },
    dropped: { signal: drop.signal },
  };
  return {
    clock,
    server,
    dispatcher,
    drop,
    contextOf: (tool) => (tool === 'hurried' || tool === 'dropped' ? contexts[tool] : {}),
    async play(requests = 4) {
      await until(() => server.requests.length === 2 && dispatcher.snapshot().downstreams[0]?.running === 0);
      drop.abort(new Error('the user has closed the window'));
      await clock.advance(89_000);
      if (server.requests.length !== 2) throw new Error(`asked before the server's time: ${server.requests}`);
      // After a pause one call goes first, and what it hears lets the next one go: the socket takes its own time.
      for (let minute = 0; minute < 9 && server.requests.length < requests; minute += 1) {
        await clock.advance(60_000);
        await until(() => dispatcher.snapshot().downstreams[0]?.running === 0);
      }
    },
  };
}
