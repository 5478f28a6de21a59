import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { METRICS, type MetricSpec, SPAN_ATTRIBUTE } from '../../src/telemetry/names.ts';

const page = readFileSync(new URL('../../docs/telemetry.md', import.meta.url), 'utf8');
const root = new URL('../../', import.meta.url);
const specs: readonly MetricSpec[] = Object.values(METRICS);

/** Cells of every table row whose first cell is code. */
const rows = [...page.matchAll(/^\| `.*\|$/gm)].map(([row]) =>
  row
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim()),
);

function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map((match) => match[1]!);
}

describe('docs/telemetry.md', () => {
  test('lists every metric as it is, in the same order', () => {
    const listed = rows.filter((row) => row.length === 5).map((row) => row.slice(0, 4));
    const ticked = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');
    expect(listed).toEqual(specs.map((spec) => [ticked([spec.name]), spec.kind, spec.unit, ticked(spec.attributes)]));
  });

  test('lists every attribute of the span', () => {
    const listed = rows.filter((row) => row.length === 2).map(([name]) => name?.replaceAll('`', ''));
    expect(listed.sort()).toEqual(Object.values(SPAN_ATTRIBUTE).sort());
  });

  test('queries only names that are exported', () => {
    const exported = specs.flatMap((spec) => {
      const name = spec.name.replaceAll('.', '_');
      return { histogram: [`${name}_bucket`, `${name}_sum`], counter: [`${name}_total`], gauge: [name] }[spec.kind];
    });
    const queries = [...blocks('promql'), page.match(/`(histogram_quantile.*?)`/)?.[1] ?? ''];
    const used = queries.flatMap((query) => query.match(/downstream_\w+/g) ?? []);
    expect(used).toHaveLength(4);
    for (const name of used) expect(exported).toContain(name);
  });

  test('its instrumentation registers tracing and metrics', () => {
    const [instrumentation] = blocks('js');
    const look = `
      const { trace, metrics } = await import('@opentelemetry/api');
      const real = (provider) => provider.constructor.name;
      console.log(real(trace.getTracerProvider().getDelegate()), real(metrics.getMeterProvider()));
      process.exit(0);`;
    const told = execFileSync(process.execPath, ['--input-type=module', '-e', instrumentation + look], {
      cwd: root,
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        OTEL_TRACES_EXPORTER: 'console',
        OTEL_METRICS_EXPORTER: 'console',
        OTEL_LOGS_EXPORTER: 'none',
      },
    });
    expect(told.trim()).toMatch(/TracerProvider MeterProvider$/);
  });
});
