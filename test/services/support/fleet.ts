import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { AlertSink } from '../../../src/base/alert.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { createDispatcher, type Dispatcher, type PolicyInput } from '../../../src/index.ts';
import { freePort, onStop } from './server.ts';

export interface Process {
  readonly dispatcher: Dispatcher;
  /** Serves `/metrics` on the loopback interface. */
  readonly port: number;
}

export interface ProcessOptions {
  readonly policy: PolicyInput;
  readonly alertSinks?: AlertSink[];
  readonly clock?: Clock;
}

/** What every process of the fleet is called, in pushed alerts and (as the job) in Prometheus. */
export const ENVIRONMENT = { OTEL_SERVICE_NAME: 'agents', NODE_ENV: 'production' };

/** A dispatcher whose metrics Prometheus can scrape, through the real SDK and its exporter. */
export async function startProcess({ policy, alertSinks = [], clock }: ProcessOptions): Promise<Process> {
  const port = await freePort();
  const exporter = new PrometheusExporter({ host: '127.0.0.1', port, preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  await exporter.startServer();
  const dispatcher = createDispatcher(policy, {
    alertSinks,
    env: ENVIRONMENT,
    telemetry: { meterProvider },
    ...(clock !== undefined && { clock }),
  }) as Dispatcher;
  onStop(async () => {
    await dispatcher.close({ within: 1 });
    await meterProvider.shutdown();
  });
  return { dispatcher, port };
}

/** A call that the downstream answers with a 429. */
export async function answer429(dispatcher: Dispatcher, downstream: string, retryAfter = '1'): Promise<void> {
  await dispatcher.callDownstream(downstream, () => ({ status: 429, headers: { 'retry-after': retryAfter } }));
}

/** Real instants, but everything that is waited for comes a hundred times sooner. */
export function hurriedClock(times = 100): Clock {
  return {
    now: () => performance.now() * times,
    wallNow: () => Date.now(),
    setTimer: (delayMs, fire, options) => {
      const timer = setTimeout(fire, Math.min(delayMs / times, 2 ** 31 - 1));
      if (options?.keepAlive === false) timer.unref();
      return () => clearTimeout(timer);
    },
  };
}
