import { execFile } from 'node:child_process';
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
