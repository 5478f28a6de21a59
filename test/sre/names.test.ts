import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { describe, expect, test } from 'vitest';
import { label, type MetricKey, type Part, select, storedName } from '../../scripts/sre/names.ts';
import { ATTRIBUTE, METRICS, type MetricSpec } from '../../src/telemetry/names.ts';

const KEYS = Object.keys(METRICS) as MetricKey[];

class Reader extends MetricReader {
  protected override onForceFlush = async (): Promise<void> => undefined;
  protected override onShutdown = async (): Promise<void> => undefined;
}

/** Every metric of the table with every attribute, as the real exporter writes it. */
async function exposed(): Promise<string> {
  const reader = new Reader();
  const meter = new MeterProvider({ readers: [reader] }).getMeter('penstock');
  for (const spec of Object.values(METRICS) as MetricSpec[]) {
    const attributes = Object.fromEntries(spec.attributes.map((name) => [name, 'x']));
    if (spec.kind === 'histogram') meter.createHistogram(spec.name, spec).record(1, attributes);
    else if (spec.kind === 'counter') meter.createCounter(spec.name, spec).add(1, attributes);
    else meter.createObservableGauge(spec.name, spec).addCallback((result) => result.observe(1, attributes));
  }
  return new PrometheusSerializer().serialize((await reader.collect()).resourceMetrics);
}

describe('names in Prometheus', () => {
  test('are those that the exporter of OpenTelemetry JS writes, labels too', async () => {
    const lines = (await exposed()).split('\n');
    for (const key of KEYS) {
      const { kind, attributes }: MetricSpec = METRICS[key];
      const parts: readonly Part[] = kind === 'histogram' ? ['_bucket', '_count', '_sum'] : [''];
      for (const part of parts) {
        const line = lines.find((one) => one.startsWith(`${storedName(key, 'exporter', part)}{`));
        expect(line, `${key}${part}`).toBeDefined();
        for (const [name, attribute] of Object.entries(ATTRIBUTE)) {
          if (attributes.includes(attribute)) expect(line).toContain(`${label(name as keyof typeof ATTRIBUTE)}="x"`);
        }
      }
    }
  });

  test.each([
    ['wait', '_bucket', 'downstream_wait_ms_milliseconds_bucket'],
    ['queueOldest', '', 'downstream_queue_oldest_ms_milliseconds'],
    ['throttled', '', 'downstream_throttled_total'],
    ['queueLength', '', 'downstream_queue_length'],
    ['rateSized', '', 'downstream_rate_sized_per_second'],
    ['paused', '', 'downstream_paused_ratio'],
  ] as const)('a collector appends the unit to %s%s', (key, part, name) => {
    expect(storedName(key, 'collector', part)).toBe(name);
  });

  test('without suffixes a counter has none either', () => {
    expect(storedName('throttled', 'plain')).toBe('downstream_throttled');
    expect(storedName('wait', 'plain', '_count')).toBe('downstream_wait_ms_count');
  });

  test('every unit of the table has been looked up', () => {
    for (const key of KEYS) expect(() => storedName(key, 'collector')).not.toThrow();
  });

  test('a selector matches all of them, and no others', () => {
    const text = select('throttled', { downstream: '="carrier"' }, '', 'job="a"');
    expect(text).toBe('{__name__=~"downstream_throttled_total|downstream_throttled",downstream="carrier",job="a"}');
    expect(select('queueLength')).toBe('downstream_queue_length');
    expect(() => select('throttled', { priority: '="normal"' })).toThrow(
      'downstream.throttled has no attribute priority',
    );
  });
});
