import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FORMS, storedName } from '../../scripts/sre/names.ts';
import { type Prometheus, startPrometheus } from './support/prometheus.ts';
import { startCollector } from './support/renamed.ts';
import { stopAll, until } from './support/server.ts';
import { startTraffic } from './support/traffic.ts';

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly { name: string; expr?: string; titleFormat?: string }[] };
  readonly templating: { readonly list: readonly { name: string; type: string; query: string }[] };
}

const FILE = join(import.meta.dirname, '..', '..', 'config', 'grafana', 'penstock.json');
const dashboard = JSON.parse(readFileSync(FILE, 'utf8')) as Dashboard;

/** As Grafana fills it in with everything chosen; without the 0 that stands in where there is nothing. */
function filled(expr: string): string {
  const values: Readonly<Record<string, string>> = {
    service: '.*',
    instance: '.*',
    downstream: '.*',
    __rate_interval: '10s',
    __range: '1m',
  };
  return expr.replace(' or vector(0)', '').replaceAll(/\$(\w+)/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`nobody fills in $${name}`);
    return value;
  });
}

const panels = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat = '' }, at) => [`${title} (${at + 1})`, expr, legendFormat] as const),
);
const annotations = dashboard.annotations.list.flatMap(({ name, expr, titleFormat = '' }) =>
  expr === undefined ? [] : [[`annotation ${name}`, expr, titleFormat] as const],
);

describe.each(FORMS)('with traffic in which everything happens, by the names of the %s form', (form) => {
  let prometheus: Prometheus;
  beforeAll(async () => {
    const { port } = await startTraffic();
    prometheus = await startPrometheus({ ports: [await startCollector(port, form)] });
  });
  afterAll(stopAll);

  test('these are the names under which Prometheus knows them', async () => {
    await until(async () => expect(await prometheus.query(storedName('wait', form, '_count'))).not.toEqual([]));
    const [paused] = await until(async () => {
      const found = await prometheus.query(storedName('paused', form));
      expect(found).not.toEqual([]);
      return found;
    });
    expect(paused?.metric.job).toBe('agents');
  });

  test.each([...panels, ...annotations])('%s has something to show', async (_, expr, legend) => {
    const found = await until(async () => {
      const samples = await prometheus.query(filled(expr));
      if (!samples.some(({ value }) => Number.isFinite(value))) throw new Error(`nothing to show: ${filled(expr)}`);
      return samples;
    });
    const named = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    const labels = new Set(found.flatMap(({ metric }) => Object.keys(metric)));
    expect([...labels]).toEqual(expect.arrayContaining(named));
  });

  const variables = dashboard.templating.list.filter(({ type }) => type === 'query');
  test.each(variables)('$name has something to choose', async ({ query }) => {
    const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(query) ?? [];
    const found = await until(async () => {
      const samples = await prometheus.query(filled(selector));
      if (samples.length === 0) throw new Error(`nothing to choose: ${query}`);
      return samples;
    });
    expect(new Set(found.map(({ metric }) => metric[label]))).not.toContain(undefined);
  });
});
