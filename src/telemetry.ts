/** `penstock/telemetry`: an OpenTelemetry SDK for applications that have none yet. Node only. */
export { type PrometheusOptions, type StartedTelemetry, type StartOptions, startTelemetry } from './telemetry/start.ts';
