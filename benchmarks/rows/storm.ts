import { setTimeout as sleep } from 'node:timers/promises';
import { strainOf } from '../lib/measure.ts';
import { penstock } from '../lib/penstock.ts';
import { atMost, type Row, type Sample, type Variant } from '../lib/row.ts';

const IN_FLIGHT = 200;
const CROWD = 100_000;
const MOST_BLOCK_MS = 10;
/** Storms before the one that is measured, each in a dispatcher of its own: the code is compiled by then. */
const WARM_UPS = 5;
/** The look over the whole crowd is under way that long, in goes. */
const LOOK_MS = 1_000;

interface Crowd {
  readonly size: number;
  /** Waiters have a deadline that all of them can still make. */
  readonly hasDeadlines: boolean;
  readonly runs: number;
}

/** A lane with so many waiters, and 200 calls in flight that are then all told 429 in one turn. */
async function storm({ size, hasDeadlines, runs }: Crowd): Promise<Sample> {
  const { createDispatcher } = await penstock();
  const ids = new Set<string>();
  let alerts = 0;
  const dispatcher = createDispatcher(
    { downstreams: { carrier: { quota: '60000/minute', maxConcurrent: IN_FLIGHT, whilePaused: 'wait' } } },
    {
      alertSinks: [],
      onAlert: ({ incident }) => {
        alerts += 1;
        ids.add(incident.id);
      },
    },
  );
  const answers: ((response: Response) => void)[] = [];
  const inFlight = () => new Promise<Response>((resolve) => answers.push(resolve));
  for (let left = IN_FLIGHT; left > 0; left -= 1) dispatcher.callDownstream('carrier', inFlight).catch(() => {});
  while (answers.length < IN_FLIGHT) await sleep(5);
  const deadline = hasDeadlines ? Date.now() + 86_400_000 : undefined;
  for (let n = 0; n < size; n += 1) {
    const runId = runs === 1 ? undefined : `run ${n % runs}`;
    dispatcher.callDownstream('carrier', () => {}, { deadline, runId }).catch(() => {});
  }
  await sleep(size === 0 ? 5 : 500);
  const headers = { 'retry-after': '60' };
  const responses = answers.map(() => new Response(null, { status: 429, headers }));
  let turnMs = 0;
  const strain = await strainOf(async () => {
    const from = performance.now();
    for (const [n, answer] of answers.entries()) answer(responses[n] as Response);
    await new Promise(setImmediate);
    turnMs = performance.now() - from;
    if (size > 0) await sleep(LOOK_MS);
  });
  const [lane] = dispatcher.snapshot().downstreams;
  if (alerts !== IN_FLIGHT || ids.size !== 1 || lane?.inARow !== 1) {
    throw new Error(`${alerts} alerts of ${ids.size} incidents, step ${lane?.inARow}`);
  }
  if (lane.queued !== size) throw new Error(`${lane.queued} of ${size} wait`);
  dispatcher.close({ drain: false, within: 0 }).catch(() => {});
  return { value: strain.longestBlockMs, more: { ...strain, turnMs, waiters: size } };
}

function variant(name: string, role: Variant['role'], note: string, crowd: Crowd): Variant {
  return {
    name,
    role,
    note,
    run: async (isQuick) => {
      const cold = await storm({ ...crowd, size: 0 });
      for (let left = WARM_UPS - 1; left > 0; left -= 1) await storm({ ...crowd, size: 0 });
      const size = isQuick ? Math.min(crowd.size, 2_000) : crowd.size;
      const { value, more } = await storm({ ...crowd, size });
      return { value, more: { ...more, firstOfProcessMs: cold.more?.turnMs ?? Number.NaN } };
    },
  };
}

/** What a storm of 429s costs the event loop. */
export const storms: Row = {
  id: 'storm',
  title: '200 calls in flight are told 429 in one turn, 100,000 wait',
  unit: 'ms, longest block of the event loop',
  target: 'no block over 10 ms; one incident, one step, 200 alerts',
  rounds: 5,
  variants: [
    variant('penstock', 'ours', 'waiters of one run, no deadline', { size: CROWD, hasDeadlines: false, runs: 1 }),
    variant('penstock, nobody waits', 'beside', 'the 200 answers alone', { size: 0, hasDeadlines: false, runs: 1 }),
    variant('penstock, deadlines', 'beside', 'a deadline for each', { size: CROWD, hasDeadlines: true, runs: 1 }),
    variant('penstock, 1,000 runs', 'beside', 'a deadline for each, of 1,000 runs that take turns', {
      size: CROWD,
      hasDeadlines: true,
      runs: 1_000,
    }),
    variant('penstock, 100,000 runs', 'beside', 'a deadline for each, a run of its own for each', {
      size: CROWD,
      hasDeadlines: true,
      runs: CROWD,
    }),
  ],
  judge: (medians) => {
    return [...medians].map(([name, { value }]) => atMost(`longest block: ${name}`, value, MOST_BLOCK_MS, 'ms'));
  },
};
