import { execFile } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { metrics } from '@opentelemetry/api';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createDispatcher } from '../../src/dispatcher.ts';
import { destinationsOf } from '../../src/telemetry/destinations.ts';
import { loadPeers } from '../../src/telemetry/peers.ts';
import { startTelemetry } from '../../src/telemetry.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { MetricLab } from './harness.ts';
import { Receiver } from './receiver.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  metrics.disable();
});

const textOf = async (url: string | undefined): Promise<string> => (await fetch(url ?? '')).text();

describe('what is exported', () => {
  const otlp = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  const cases: [string, Parameters<typeof destinationsOf>, readonly [string[], string[], string[]]][] = [
    ['nothing, where nobody configured anything', [{}, undefined], [[], [], []]],
    ['everything, to the collector that is named', [otlp, undefined], [['otlp'], ['otlp'], ['otlp']]],
    ['an empty variable names none', [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, undefined], [[], [], []]],
    ['a protocol names none', [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, undefined], [[], [], []]],
    ['only traces', [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a' }, undefined], [['otlp'], [], []]],
    ['only metrics', [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://a' }, undefined], [[], ['otlp'], []]],
    ['an exporter by name', [{ OTEL_TRACES_EXPORTER: 'otlp' }, undefined], [['otlp'], [], []]],
    ['none beats a collector', [{ ...otlp, OTEL_TRACES_EXPORTER: 'none' }, undefined], [[], ['otlp'], ['otlp']]],
    ['Prometheus alone', [{}, true], [[], ['prometheus'], []]],
    ['Prometheus for metrics, the collector for the rest', [otlp, true], [['otlp'], ['prometheus'], ['otlp']]],
    ['by variable', [{ OTEL_METRICS_EXPORTER: 'prometheus' }, undefined], [[], ['prometheus'], []]],
    ['not, where the code says no', [{ OTEL_METRICS_EXPORTER: 'prometheus' }, false], [[], [], []]],
    ['both', [{ OTEL_METRICS_EXPORTER: 'otlp,prometheus' }, undefined], [[], ['otlp', 'prometheus'], []]],
    ['both, said twice', [{ OTEL_METRICS_EXPORTER: 'otlp' }, true], [[], ['otlp', 'prometheus'], []]],
  ];
  test.each(cases)('%s', (_, [env, option], [traces, measured, logs]) => {
    expect(destinationsOf(env, option)).toMatchObject({ traces, metrics: measured, logs });
  });

  test('where Prometheus is served: the code, then the variables, then the loopback interface', () => {
    const env = { OTEL_EXPORTER_PROMETHEUS_PORT: '9999', OTEL_EXPORTER_PROMETHEUS_HOST: '::1' };
    expect(destinationsOf({}, true).prometheus).toEqual({ port: 9464, host: '127.0.0.1' });
    expect(destinationsOf(env, true).prometheus).toEqual({ port: 9999, host: '::1' });
    expect(destinationsOf(env, { port: 0, host: '127.0.0.1' }).prometheus).toEqual({ port: 0, host: '127.0.0.1' });
    expect(() => destinationsOf({ OTEL_EXPORTER_PROMETHEUS_PORT: 'x' }, true)).toThrow(/PROMETHEUS_PORT.*"x"/);
    expect(() => destinationsOf({}, { port: 70_000 })).toThrow(/prometheus.port.*70000/);
  });
});

describe('startTelemetry', () => {
  test('serves a dispatcher made before it, on the loopback interface, and then leaves nothing behind', async () => {
    const dispatcher = createDispatcher(
      { downstreams: { carrier: { quota: '60/minute' } } },
      { clock: new ManualClock(), env: {} },
    );
    const telemetry = await startTelemetry({ serviceName: 'shop', prometheus: { port: 0 } });
    expect(telemetry.prometheus).toMatchObject({ host: '127.0.0.1' });
    expect(telemetry.prometheus?.port).toBeGreaterThan(0);
    await dispatcher.callDownstream('carrier', async () => 1);
    const text = await textOf(telemetry.prometheus?.url);
    expect(text).toMatch(/^downstream_wait_ms_count\{downstream="carrier",outcome="started",.*\} 1$/m);
    expect(text).toMatch(/^downstream_throttled_total\{downstream="carrier",.*\} 0$/m);
    expect(text).toMatch(/^target_info\{.*service_name="shop"/m);
    const elsewhere = await fetch(telemetry.prometheus!.url.replace('/metrics', '/'));
    expect([elsewhere.status, await elsewhere.text()]).toEqual([404, 'metrics are at /metrics\n']);
    expect((await fetch(telemetry.prometheus!.url, { method: 'POST' })).status).toBe(405);
    await dispatcher.close();
    await Promise.all([telemetry.shutdown(), telemetry.shutdown()]);
    await expect(textOf(telemetry.prometheus?.url)).rejects.toThrow();
    const again = await startTelemetry({ serviceName: 'shop', prometheus: { port: 0 } });
    expect(await textOf(again.prometheus?.url)).not.toBe('');
    await again[Symbol.asyncDispose]();
  });

  test('the variables of an operator go before the name in the code', async () => {
    vi.stubEnv('OTEL_SERVICE_NAME', 'shop-canary');
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'team=logistics');
    await using telemetry = await startTelemetry({ serviceName: 'shop', prometheus: { port: 0 } });
    const [info] = (await textOf(telemetry.prometheus?.url)).match(/^target_info.*$/m) ?? [];
    expect(info).toContain('service_name="shop-canary"');
    expect(info).toContain('team="logistics"');
  });

  test('says who is there already, and leaves that one alone', async () => {
    const lab = new MetricLab();
    metrics.setGlobalMeterProvider(lab.provider);
    await expect(startTelemetry({ serviceName: 'shop', prometheus: true })).rejects.toThrow(/registered.*already/);
    expect(metrics.getMeterProvider()).toBe(lab.provider);
    metrics.disable();
    const first = startTelemetry({ serviceName: 'shop', prometheus: { port: 0 } });
    await expect(startTelemetry({ serviceName: 'shop', prometheus: { port: 0 } })).rejects.toThrow(/already/);
    await (await first).shutdown();
  });

  test('a port in use is named, and nothing is registered', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const started = startTelemetry({ serviceName: 'shop', prometheus: { port } });
    await expect(started).rejects.toThrow(new RegExp(`127.0.0.1:${port} is in use.*port`));
    other.close();
    await (await startTelemetry({ serviceName: 'shop', prometheus: { port: 0 } })).shutdown();
  });

  test('without any destination it starts nothing and says so; disabled it says nothing', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const none = await startTelemetry({ serviceName: 'shop' });
    expect(none.exports).toEqual({ traces: [], metrics: [] });
    await none.forceFlush();
    await none.shutdown();
    expect(warned.mock.calls.map(([text]) => text)).toEqual([expect.stringMatching(/OTEL_EXPORTER_OTLP_ENDPOINT/)]);
    vi.stubEnv('OTEL_SDK_DISABLED', 'true');
    const disabled = await startTelemetry({ serviceName: 'shop', prometheus: true });
    expect(disabled).toMatchObject({ exports: { traces: [], metrics: [] } });
    expect(disabled.prometheus).toBeUndefined();
    await disabled.shutdown();
    expect(warned).toHaveBeenCalledTimes(1);
  });

  test('a collector that refuses, or is not there, rejects nothing', async () => {
    const receiver = new Receiver(400);
    const url = await receiver.listen();
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json');
    for (const isThere of [true, false]) {
      if (!isThere) receiver.close();
      vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', url);
      const telemetry = await startTelemetry({ serviceName: 'shop', within: 300 });
      const dispatcher = createDispatcher({ downstreams: { carrier: {} } }, { clock: new ManualClock(), env: {} });
      await dispatcher.callDownstream('carrier', async () => 1);
      await dispatcher.close();
      await telemetry.forceFlush();
      await telemetry.shutdown();
    }
  });

  test('a missing package is named with the command that installs it', async () => {
    await expect(loadPeers('file:///nowhere/index.js')).rejects.toThrow(
      /needs @opentelemetry\/sdk-node.*npm install .*@opentelemetry\/sdk-node@/,
    );
    const { partOfSdk } = await loadPeers();
    expect(() => partOfSdk('@opentelemetry/exporter-none')).toThrow(/npm install @opentelemetry\/exporter-none/);
  });

  test.each([{ serviceName: '' }, {}, { serviceName: 'a', within: 'soon' }])('%j is refused', async (options) => {
    await expect(startTelemetry(options as never)).rejects.toThrow(/startTelemetry: (?:serviceName|within): expected/);
  });
});

describe('a process', () => {
  const run = async (program: string, env: Record<string, string> = {}): Promise<string> => {
    const entry = new URL('../../src/telemetry.ts', import.meta.url).href;
    const text = `import { startTelemetry } from ${JSON.stringify(entry)};\n${program}`;
    const args = ['--import', 'tsx', '--input-type=module', '-e', text];
    const { PATH = '' } = process.env;
    return (await promisify(execFile)(process.execPath, args, { env: { PATH, ...env }, timeout: 20_000 })).stdout;
  };

  test('ends by itself while an endpoint is served, and after a shutdown', async () => {
    expect(await run(`await startTelemetry({ serviceName: 'a', prometheus: { port: 0 } }); console.log('on');`)).toBe(
      'on\n',
    );
  });

  test('ends by itself after a shutdown with a collector that is not there', async () => {
    const program = `
      const telemetry = await startTelemetry({ serviceName: 'a', within: 500 });
      const { trace } = await import('@opentelemetry/api');
      trace.getTracer('t').startSpan('s').end();
      await telemetry.shutdown();
      console.log('off');`;
    expect(await run(program, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })).toBe('off\n');
  });
});
