import { execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const program = `
  import { createAlertDesk } from './src/alerts/desk.ts';
  import { systemClock } from './src/base/clock.ts';
  import { factsOf, origin } from './test/alerts/facts.ts';
  const broken = { name: 'broken', deliver: () => Promise.reject(new Error('no')) };
  const heard = { name: 'heard', deliver: (alert) => console.log(alert.name) };
  const desk = createAlertDesk({ clock: systemClock, sinks: [broken, heard], emit: () => undefined, origin });
  desk.raise(factsOf({ at: Date.now() }));
  process.on('exit', () => console.log('pending', desk.pending, 'after', performance.now() < 10_000));
`;

test('B24: an open incident and a sink in its back-off keep no process alive, a first delivery is made', async () => {
  const argv = ['--import', 'tsx', '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd: root });
  expect(stdout).toBe('QuotaModelWrong\npending 1 after true\n');
});

const run = async (source: string): Promise<string> => {
  const argv = ['--import', 'tsx', '--input-type=module', '--eval', source];
  return (await promisify(execFile)(process.execPath, argv, { cwd: root })).stdout;
};
const start = (sinks: string): string => `
  import { createAlertDesk } from './src/alerts/desk.ts';
  import { DeliveryFailed } from './src/alerts/sink.ts';
  import { systemClock } from './src/base/clock.ts';
  import { factsOf, origin } from './test/alerts/facts.ts';
  const sinks = ${sinks};
  const desk = createAlertDesk({ clock: systemClock, sinks, emit: () => undefined, origin });
  const at = Date.now();
  process.on('exit', () => console.log('pending', desk.pending, 'after', Math.round(performance.now() / 1000) < 6));
`;

test('a receiver that asked for an hour, an incident that is repeated and a mute keep no process alive', async () => {
  const wait =
    "() => Promise.reject(new DeliveryFailed('no', { isRetryable: true, status: 429, retryAfterMs: 3_600_000 }))";
  const source = `${start(`[{ name: 'held', deliver: ${wait} }, { name: 'again', repeatMs: 2_000, deliver: () => undefined }]`)}
    desk.raise(factsOf({ at }));
  `;
  // Beside the alert itself, that the sink asks for an hour is told to nobody but the other sink.
  expect(await run(source)).toBe('pending 1 after true\n');
});

test('what waits only for its turn is still told: two messages to a sink that takes one in half a second', async () => {
  const source = `${start("[{ name: 'chat', spacingMs: 500, deliver: async ({ downstream }) => console.log(downstream) }]")}
    for (const downstream of ['a', 'b', 'c']) desk.raise(factsOf({ at, downstream }));
  `;
  expect(await run(source)).toBe('a\nb\nc\npending 0 after true\n');
});

test('a stderr that nobody reads any longer ends no process', async () => {
  const source = `
    import { stderrSink } from './src/alerts/stderr.ts';
    import { factsOf, origin } from './test/alerts/facts.ts';
    import { buildAlert } from './src/alerts/alert.ts';
    const alert = buildAlert(factsOf({ at: Date.now() }), origin, 'a-1');
    const sink = stderrSink();
    for (let n = 0; n < 5; n += 1) {
      await sink.deliver(alert, new AbortController().signal);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    console.log('lives');
  `;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', source], { cwd: root });
  child.stderr.destroy();
  let out = '';
  for await (const part of child.stdout) out += String(part);
  expect(out).toBe('lives\n');
});
