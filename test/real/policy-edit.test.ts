import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Alert, createDispatcher, type DispatcherEvent, loadPolicy, watchPolicy } from '../../src/index.ts';
import { windowMax } from '../../src/testing.ts';

const WAITERS = 10_000;
const SLOW = 40;
const FAST = 200;
/** How soon an edit must be in effect. */
const SOON_MS = 1_000;
/** Long enough for a second notice of the file system, and a second look, to do harm. */
const QUIET_MS = 1_500;
/** Starts that a timer of a busy machine may bring late, all at once; a burst that nobody has saved would be 20. */
const LATE = 10;
/** So long the turn may take in which a policy is applied; the old rate starts one call in it. */
const TURN_MS = 20;

const policyOf = (perSecond: number, more = ''): string =>
  `downstreams:\n  carrier: { quota: ${perSecond}/second, whilePaused: wait }\n${more}`;

async function isSoon(isSo: () => boolean, withinMs: number): Promise<boolean> {
  const by = performance.now() + withinMs;
  while (!isSo() && performance.now() < by) await sleep(5);
  return isSo();
}

const countIn = (starts: readonly number[], from: number, to: number): number =>
  starts.filter((at) => at >= from && at < to).length;

async function withFile(use: (file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-edit-'));
  try {
    const file = join(folder, 'downstreams.yaml');
    await writeFile(file, policyOf(SLOW));
    await use(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

// Instants are what it compares: on a machine that others use too, one of three tries must keep them.
test(
  'a policy file edited while 10,000 calls wait: in effect within a second, nobody lost, no free burst; a broken edit changes nothing',
  { retry: 2 },
  () =>
    withFile(async (file) => {
      const delivered: Alert[] = [];
      const events: DispatcherEvent[] = [];
      const sink = { name: 'pager', deliver: (alert: Alert) => void delivered.push(alert) };
      const dispatcher = createDispatcher(await loadPolicy(file, { env: {} }), { env: {}, alertSinks: [sink] });
      const { callDownstream, snapshot } = dispatcher;
      let changed = 0;
      dispatcher.subscribe((event) => {
        events.push(event);
        if (event.type === 'policy-changed') changed = performance.now();
      });
      const changes = () => events.filter(({ type }) => type === 'policy-changed').length;
      await using watch = watchPolicy(file, dispatcher);
      await watch.ready;

      const starts: number[] = [];
      const ends = { ran: 0, cancelled: 0, lost: [] as unknown[] };
      const start = (): void => void starts.push(performance.now());
      const fail = (error: { code?: string }): void => {
        if (error.code === 'CANCELLED') ends.cancelled++;
        else ends.lost.push(error);
      };
      for (let n = 0; n < WAITERS; n++) {
        void callDownstream('carrier', start, { runId: `run ${n % 100}`, tool: 'ship' }).then(() => ends.ran++, fail);
      }
      await sleep(1_500);
      expect(windowMax(starts, 1_000)).toBeLessThanOrEqual(SLOW);

      const edited = performance.now();
      await writeFile(file, policyOf(FAST));
      expect(await isSoon(() => changes() === 1, SOON_MS)).toBe(true);
      const changedAt = changed;
      await sleep(2_000);
      const [quota] = snapshot().downstreams[0]!.quotas;
      const perMs = quota!.sizedPerSecond / 1_000;
      const follows = edited + SOON_MS;
      expect(countIn(starts, follows, follows + 1_000)).toBeGreaterThan(0.8 * 1_000 * perMs);
      // Whoever waited had taken every permit: there are none but what the time since has brought. The event is told
      // after the lane was pumped: what starts in that turn counts.
      for (const ms of [50, 100, 250]) {
        expect(countIn(starts, changedAt - TURN_MS, changedAt + ms)).toBeLessThanOrEqual(LATE + ms * perMs);
      }
      expect(windowMax(starts, 1_000)).toBeLessThanOrEqual(FAST);

      const before = snapshot().policyHash;
      await writeFile(file, policyOf(400, '  mail: { maxWiat: 3s }\n'));
      expect(await isSoon(() => delivered.length > 0, 2_000)).toBe(true);
      await sleep(QUIET_MS);
      expect(delivered).toMatchObject([{ name: 'PolicyRejected', status: 'firing' }]);
      expect(events.filter(({ type }) => type === 'policy-rejected')).toHaveLength(1);
      expect([changes(), snapshot().policyHash, dispatcher.names()]).toEqual([1, before, ['carrier']]);
      expect(windowMax(starts, 1_000)).toBeLessThanOrEqual(FAST);

      await writeFile(file, policyOf(FAST / 2));
      expect(await isSoon(() => delivered.length > 1, SOON_MS)).toBe(true);
      expect(delivered[1]).toMatchObject({ name: 'PolicyRejected', status: 'resolved' });
      expect([changes(), snapshot().downstreams[0]!.quotas[0]!.quota]).toEqual([2, `${FAST / 2}/second`]);

      const { queued } = snapshot().downstreams[0]!;
      expect(starts.length + queued).toBe(WAITERS);
      expect(dispatcher.cancel({ tool: 'ship' }, 'the test is over')).toBe(queued);
      await dispatcher.close({ drain: true, within: 5_000 });
      expect(ends).toEqual({ ran: starts.length, cancelled: queued, lost: [] });
      expect(windowMax(starts, 1_000)).toBeLessThanOrEqual(FAST);
    }),
);
