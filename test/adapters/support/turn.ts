import { afterEach, beforeEach } from 'vitest';
import { createDispatcher, type Dispatcher } from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';
import { CarrierServer, until } from './carrier-server.ts';

/** The six tools that a model calls at once, and what each of them meets. */
export const SIX = ['first', 'throttled', 'hurried', 'dropped', 'fifth', 'sixth'] as const;
export type Six = (typeof SIX)[number];

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
  readonly play: () => Promise<void>;
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
  const policy = { downstreams: { carrier: { quota: '2/minute', maxWait: '10m' } } } as const;
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
    async play() {
      await until(() => server.requests.length === 2 && dispatcher.snapshot().downstreams[0]?.inFlight === 0);
      drop.abort(new Error('the user has closed the window'));
      await clock.advance(89_000);
      if (server.requests.length !== 2) throw new Error(`asked before the server's time: ${server.requests}`);
      await clock.advance(5 * 60_000);
      await until(() => server.requests.length === 4);
    },
  };
}
