import { trace } from '@opentelemetry/api';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, expect, test } from 'vitest';
import { otelSink } from '../../../src/alerts.ts';
import { NOW } from '../facts.ts';
import { alertOf, signal } from './support.ts';

afterEach(() => trace.disable());

function spans() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  return { exporter, provider };
}

test('a span of no length in the trace of the call that was throttled', () => {
  const { exporter, provider } = spans();
  void otelSink({ tracerProvider: provider }).deliver(alertOf(), signal());
  const [span] = exporter.getFinishedSpans();
  expect(span).toMatchObject({ name: 'downstream.alert', duration: [0, 0], startTime: [NOW / 1_000, 0] });
  expect(span?.spanContext().traceId).toBe('0af7651916cd43dd8448eb211c80319c');
  expect(span?.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
  expect(span?.attributes).toMatchObject({ downstream: 'carrier', 'downstream.alert.name': 'QuotaModelWrong' });
});

test('an SDK that starts after the sink was made gets it; without one nothing happens', () => {
  const sink = otelSink();
  void sink.deliver(alertOf(), signal());
  const { exporter, provider } = spans();
  trace.setGlobalTracerProvider(provider);
  const { traceId: _traceId, spanId: _spanId, ...rest } = alertOf();
  void sink.deliver(rest, signal());
  expect(exporter.getFinishedSpans().map(({ name, parentSpanContext }) => [name, parentSpanContext])).toEqual([
    ['downstream.alert', undefined],
  ]);
});

test('a log record where a logger is given', () => {
  const exporter = new InMemoryLogRecordExporter();
  const provider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter } as never)] });
  void otelSink({ logger: provider.getLogger('penstock') as never }).deliver(
    alertOf({}, { severity: 'critical' }),
    signal(),
  );
  const [record] = exporter.getFinishedLogRecords();
  expect(record).toMatchObject({
    eventName: 'downstream.alert',
    severityNumber: 18,
    severityText: 'CRITICAL',
    body: alertOf().explanation,
    spanContext: { traceId: '0af7651916cd43dd8448eb211c80319c' },
  });
});
