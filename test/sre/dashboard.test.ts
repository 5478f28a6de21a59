import { describe, expect, test } from 'vitest';
import { dashboardFile } from '../../scripts/sre/dashboard.ts';
import { FORMS, type MetricKey, storedName } from '../../scripts/sre/names.ts';
import { METRICS } from '../../src/telemetry/names.ts';

interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}
interface Source {
  readonly type: string;
  readonly uid: string;
}
interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: Box;
  readonly repeat?: string;
  readonly datasource?: Source;
  readonly targets?: readonly { refId: string; expr: string; datasource: Source }[];
}
interface Dashboard {
  readonly id?: number | null;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly { name: string; type: string; allValue?: string }[] };
  readonly annotations: { readonly list: readonly { name: string; expr?: string; enable: boolean }[] };
  readonly panels: readonly Panel[];
}

const text = dashboardFile();
const dashboard = JSON.parse(text) as Dashboard;
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const exprs = [
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.annotations.list.flatMap(({ expr = [] }) => expr),
];
const overlap = (a: Box, b: Box): boolean => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

describe('config/grafana/penstock.json', () => {
  test('is the classic model, imported as it is: an id of its own everywhere, of Grafana nowhere', () => {
    expect(dashboard.id ?? null).toBeNull();
    expect(dashboard.uid).toBe('penstock');
    expect(dashboard.schemaVersion).toBeGreaterThan(36);
    expect(text).not.toMatch(/__inputs|\$\{DS_/);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each(panels)('$title has a description, a query and the chosen data source', (panel) => {
    const chosen = { type: 'prometheus', uid: ['$', '{datasource}'].join('') };
    expect(panel.description).toMatch(/\.$/);
    expect(panel.datasource).toEqual(chosen);
    expect(panel.targets?.map(({ refId }) => refId)).toEqual(['A', 'B', 'C'].slice(0, panel.targets?.length));
    for (const { datasource } of panel.targets ?? []) expect(datasource).toEqual(chosen);
  });

  test('no panel lies upon another or leaves the grid', () => {
    for (const [at, panel] of dashboard.panels.entries()) {
      expect(panel.gridPos.x + panel.gridPos.w).toBeLessThanOrEqual(24);
      const upon = dashboard.panels.slice(at + 1).filter((other) => overlap(panel.gridPos, other.gridPos));
      expect(upon.map(({ title }) => `${title} on ${panel.title}`)).toEqual([]);
    }
  });

  test('shows every metric of the table', () => {
    const missing = (Object.keys(METRICS) as MetricKey[]).filter((key) => {
      const parts = METRICS[key].kind === 'histogram' ? (['_bucket', '_count'] as const) : ([''] as const);
      const names = parts.flatMap((part) => FORMS.map((form) => storedName(key, form, part)));
      return !exprs.some((expr) => names.some((name) => new RegExp(`\\b${name}\\b`).test(expr)));
    });
    expect(missing).toEqual([]);
  });

  test('every expression asks for what is chosen at the top, and for nothing that Grafana does not know', () => {
    const variables = dashboard.templating.list.map(({ name }) => name);
    expect(variables).toEqual(['datasource', 'service', 'instance', 'downstream']);
    for (const expr of exprs) {
      expect(expr).toContain('job=~"$service",instance=~"$instance"');
      for (const [, name = ''] of expr.matchAll(/\$(\w+)/g)) {
        expect([...variables, '__rate_interval', '__range']).toContain(name);
      }
      // A step that Grafana chooses may be shorter than a scrape; five minutes suit any.
      const ranges = [...expr.matchAll(/\}(\[[^\]]+\])/g)].map(([, range]) => range);
      for (const range of ranges) expect(['[$__rate_interval]', '[$__range]', '[5m]']).toContain(range);
    }
  });

  test('what is to be seen at a glance is there: waits as heatmap, holds as annotations', () => {
    expect(panels.filter(({ type, repeat }) => type === 'heatmap' && repeat === 'downstream')).toHaveLength(1);
    const shown = dashboard.annotations.list.filter(({ enable, expr }) => enable && expr !== undefined);
    expect(shown.map(({ name }) => name)).toEqual(['Holds', 'Pauses', '429s']);
  });
});
