import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Heap after 10,000 alerts and after 100,000, of one downstream or of as many, to sinks that hang, fail and are slow. */
const program = `
  import { createAlertDesk } from './src/alerts/desk.ts';
  import { systemClock } from './src/base/clock.ts';
  import { factsOf, origin } from './test/alerts/facts.ts';
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  for (const isOne of [true, false]) {
    const sinks = [
      { name: 'hole', deliver: () => new Promise(() => undefined) },
      { name: 'down', spacingMs: 0, deliver: () => Promise.reject(new Error('down')) },
      { name: 'slow', spacingMs: 1_000, deliver: () => wait(50) },
      { name: 'fine', spacingMs: 0, deliver: () => undefined },
      { name: 'batch', spacingMs: 0, deliver: () => undefined, deliverAll: () => wait(1) },
    ];
    const desk = createAlertDesk({ clock: systemClock, sinks, emit: () => undefined, origin });
    const heap = [];
    for (let n = 1; n <= 100_000; n++) {
      const downstream = isOne ? 'carrier' : 'downstream-' + n;
      const incident = { id: 'i', startedAt: Date.now(), throttles: n, inARow: 1 };
      desk.raise(factsOf({ at: Date.now(), downstream, incident }));
      if (n % 1_000 === 0) await wait(0);
      if (n !== 10_000 && n !== 100_000) continue;
      await wait(20);
      global.gc();
      heap.push(process.memoryUsage().heapUsed / 1e6);
    }
    console.log(JSON.stringify({ isOne, grownMb: heap[1] - heap[0], pending: desk.pending, sinks: desk.sinks.length }));
    await desk.close(0);
  }
  process.exit(0);
`;

test('memory is flat over 100,000 alerts, whatever the receivers do', async () => {
  const argv = ['--expose-gc', '--import', 'tsx', '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd: root });
  const [one, many] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { grownMb: number; pending: number });
  console.info(stdout);
  expect(one?.grownMb).toBeLessThan(3);
  expect(one?.pending).toBeLessThanOrEqual(5 * 4);
  expect(many?.grownMb).toBeLessThan(5);
  expect(many?.pending).toBeLessThanOrEqual(5_000);
}, 60_000);
