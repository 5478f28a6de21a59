import { createServer } from 'node:http';
import { FORMS, type Form, type MetricKey, type Part, storedName } from '../../../scripts/sre/names.ts';
import { METRICS, type MetricSpec } from '../../../src/telemetry/names.ts';
import { onStop } from './server.ts';

/** Serves what a process exposes on `port` under the names that a collector gives the metrics. */
export async function startCollector(port: number, form: Form): Promise<number> {
  const names = new Map<string, string>();
  for (const key of Object.keys(METRICS) as MetricKey[]) {
    const { kind }: MetricSpec = METRICS[key];
    const parts: readonly Part[] = kind === 'histogram' ? ['_bucket', '_count', '_sum'] : [''];
    for (const part of parts) names.set(storedName(key, FORMS[0], part), storedName(key, form, part));
  }
  const server = createServer(async (_, response) => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(
      samples
        .map((line) => line.replace(/^\w+/, (name) => names.get(name) ?? name))
        .join('\n')
        .concat('\n'),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onStop(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
