/**
 * One process of a fleet: serves its metrics, pushes its alerts to the Alertmanager at argv[2], prints the port of
 * its metrics, and makes a call that is answered with a 429 for each line that it reads.
 */
import { createInterface } from 'node:readline';
import { alertmanagerSink } from '../../../src/alerts.ts';
import { answer429, startProcess } from './fleet.ts';

const url = process.argv[2];
const { dispatcher, port } = await startProcess({
  policy: { downstreams: { carrier: { quota: '60/minute', owner: 'logistics' } } },
  alertSinks: url === undefined ? [] : [alertmanagerSink({ url })],
});
process.stdout.write(`${port}\n`);
for await (const _ of createInterface({ input: process.stdin })) {
  await answer429(dispatcher, 'carrier');
  await dispatcher.flush();
  process.stdout.write('throttled\n');
}
