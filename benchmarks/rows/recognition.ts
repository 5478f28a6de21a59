import { createJudge } from '../../src/feedback/judge.ts';
import { atMost, median, type Row, type Sample, type Variant } from '../lib/row.ts';

const MOST_NS = 2_000;
const BATCHES = 25;
const BATCH_MS = 40;

/** Nanoseconds per judgement, of values in turn: a real lane sees more than one shape. */
function nsPerJudgement(values: readonly unknown[], thrown: boolean, outcome: string, isQuick: boolean): Sample {
  const judge = createJudge({
    downstream: 'carrier',
    throttleStatuses: [429],
    wallNow: () => Date.now(),
    onClassifierFailure: () => undefined,
  });
  const shrink = isQuick ? 10 : 1;
  let right = 0;
  const batch = (size: number): number => {
    const from = performance.now();
    for (let left = size; left > 0; left -= 1) {
      if (judge(values[left % values.length], thrown).outcome === outcome) right += 1;
    }
    return ((performance.now() - from) * 1e6) / size;
  };
  let calls = 0;
  let ns = 0;
  for (const end = performance.now() + 300 / shrink; performance.now() < end; calls += 200) ns = batch(200);
  const size = Math.max(100, Math.round((BATCH_MS * 1e6) / shrink / ns));
  const batches: number[] = [];
  for (let left = Math.ceil(BATCHES / shrink); left > 0; left -= 1) batches.push(batch(size));
  calls += batches.length * size;
  if (right !== calls) throw new Error(`${calls} values were judged, ${right} of them ${outcome}`);
  return { value: median(batches), more: { calls, fastestNs: Math.min(...batches), slowestNs: Math.max(...batches) } };
}

const PLAIN: readonly unknown[] = [undefined, null, 'delivered', 7, true];
const ROWS: readonly object[] = Array.from({ length: 100 }, (_, id) => ({ id, parcel: 'x', weight: id }));
const OBJECTS: readonly unknown[] = [
  { id: 7, status: 'delivered', at: '2026-01-01' },
  { data: { rows: ROWS }, total: 100, next: null },
  { choices: [{ message: { role: 'assistant', content: 'x' } }], usage: { total: 2 } },
  { content: [{ type: 'text', text: 'x' }], isError: false },
  ROWS,
];
const QUOTA = {
  'x-ratelimit-limit': '5000',
  'x-ratelimit-remaining': '4987',
  'x-ratelimit-reset': '1796083242',
  'x-ratelimit-used': '13',
};
const COMMON = { 'content-type': 'application/json', date: 'Tue, 01 Dec 2026 00:00:00 GMT', 'content-length': '33' };

/** What axios throws for a 429. */
function thrown429(): Error {
  const response = { status: 429, headers: { ...COMMON, 'retry-after': '7' }, data: { error: { code: 'rate_limit' } } };
  return Object.assign(new Error('x'), { code: 'ERR_BAD_REQUEST', config: {}, request: {}, response, status: 429 });
}

const PLAIN_NAME = 'a plain value';
const OBJECT_NAME = 'JSON: objects and rows';
const RESPONSE_NAME = 'a Response without quota headers';
const QUOTA_NAME = 'a Response with quota headers';
const THROWN_NAME = 'a 429 thrown by axios';

function variant(name: string, note: string, values: readonly unknown[], outcome = 'success'): Variant {
  const thrown = outcome !== 'success';
  const role = thrown || name === QUOTA_NAME ? 'beside' : 'ours';
  return { name, role, note, run: async (isQuick) => nsPerJudgement(values, thrown, outcome, isQuick) };
}

/** What reading an outcome costs: the happy path pays it at every call. */
export const recognition: Row = {
  id: 'recognition',
  title: 'Recognising the outcome of a call',
  unit: 'ns per outcome',
  target: 'at most 2 µs for a success that tells of no quota',
  rounds: 5,
  variants: [
    variant(PLAIN_NAME, 'text, a number, nothing', PLAIN),
    variant(OBJECT_NAME, 'five shapes in turn', OBJECTS),
    variant(RESPONSE_NAME, 'of the platform, four headers', [
      new Response('{}', { headers: COMMON }),
      new Response('[]', { headers: { ...COMMON, etag: 'x' } }),
    ]),
    variant(QUOTA_NAME, 'four more headers, and all of them read', [
      new Response('{}', { headers: { ...COMMON, ...QUOTA } }),
    ]),
    variant(
      THROWN_NAME,
      'the wait from a header, the code from a parsed body',
      [thrown429(), thrown429()],
      'throttled',
    ),
  ],
  judge: (medians) =>
    [PLAIN_NAME, OBJECT_NAME, RESPONSE_NAME].flatMap((name) => {
      const ns = medians.get(name)?.value;
      return ns === undefined ? [] : [atMost(name, ns, MOST_NS, 'ns')];
    }),
};
