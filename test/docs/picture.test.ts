import { describe, expect, test } from 'vitest';
import { createDispatcher } from '../../src/index.ts';
import { FakeDownstream, ManualClock } from '../../src/testing.ts';
import { read } from './support/pages.ts';

const CALLS = 800;
const EVERY_MS = 90_000 / CALLS;
const RETRIES_MS = [500, 1_000, 2_000];
const SYNC = 'nightly sync';

type Ask = (server: FakeDownstream, clock: ManualClock) => Promise<boolean>;

/** The story of the README: 800 calls over 90 s at a carrier that allows 60 a minute and has another user. */
async function tell(askWith: (clock: ManualClock) => Ask) {
  const clock = new ManualClock();
  const server = new FakeDownstream({ clock, limit: 60, windowMs: 60_000 });
  server.addConsumer({ name: SYNC, everyMs: 9_000 });
  const ask = askWith(clock);
  let answered = 0;
  let lastMs = 0;
  const all: Promise<void>[] = [];
  for (let n = 0; n < CALLS; n += 1) {
    await clock.advance(n === 0 ? 0 : EVERY_MS);
    all.push(
      ask(server, clock).then((isAnswered) => {
        if (!isAnswered) return;
        answered += 1;
        lastMs = clock.now();
      }),
    );
  }
  await clock.advance(20 * 60_000);
  await Promise.all(all);
  return {
    requests: server.count({ consumer: 'us' }),
    throttled: server.count({ consumer: 'us', status: 429 }),
    answered,
    syncLost: server.calls.filter((call) => call.consumer === SYNC && call.status === 429).length,
    minutes: lastMs / 60_000,
  };
}

const bare = (): Ask => async (server, clock) => {
  for (const waitMs of [...RETRIES_MS, undefined]) {
    if (server.call().status === 200) return true;
    if (waitMs === undefined) return false;
    await new Promise<void>((resolve) => clock.setTimer(waitMs, resolve));
  }
  return false;
};

const gated = (clock: ManualClock): Ask => {
  const policy = { downstreams: { carrier: { quota: '60/minute' } } };
  const { callDownstream } = createDispatcher(policy, { clock, alertSinks: [], env: {} });
  return async (server) => (await callDownstream('carrier', () => server.call())).status === 200;
};

describe('the table under the picture', () => {
  const row = (what: string, cells: readonly (string | number)[]): string =>
    `| ${what} | ${cells.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell)).join(' | ')} |`;

  test('says what is measured', async () => {
    const [without, within] = [await tell(bare), await tell(gated)];
    const page = read('README.md').replaceAll(/ +\|/g, ' |');
    expect(
      [
        row('requests sent', [without.requests, within.requests]),
        row('answers of 429', [without.throttled, within.throttled]),
        row('tickets answered', [`${without.answered} of 800`, `${within.answered} of 800`]),
        row('calls of the nightly sync lost', [without.syncLost, within.syncLost]),
        row('minutes until the last answer', [without.minutes.toFixed(1), within.minutes.toFixed(1)]),
      ].filter((line) => !page.includes(line)),
    ).toEqual([]);
  });
});
