import {
  createNoopMeter,
  type Meter,
  type MeterProvider,
  metrics,
  ProxyTracerProvider,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { SCOPE } from './names.ts';

const NO_TRACER_PROVIDER = new ProxyTracerProvider().getDelegate();

/** The meter provider registered now; about 15 ns. */
export function registeredMeterProvider(): MeterProvider {
  return metrics.getMeterProvider();
}

/** The tracer provider behind the API's proxy, which stays the same object when an SDK is registered later. */
export function registeredTracerProvider(): TracerProvider {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
}

/** A meter that keeps what it is told, or `undefined` where no SDK stands behind the provider. */
export function realMeter(provider: MeterProvider, version: string): Meter | undefined {
  const meter = provider.getMeter(SCOPE, version);
  return meter === createNoopMeter() ? undefined : meter;
}

/** Likewise a tracer. */
export function realTracer(provider: TracerProvider, version: string): Tracer | undefined {
  return provider === NO_TRACER_PROVIDER ? undefined : provider.getTracer(SCOPE, version);
}
