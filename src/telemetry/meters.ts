import type { BatchObservableCallback, Meter, MeterProvider } from '@opentelemetry/api';
import type { Snapshot } from '../base/snapshot.ts';
import { CallMetrics } from './call-metrics.ts';
import { Gauges } from './gauges.ts';
import { realMeter, registeredMeterProvider } from './providers.ts';

/** The instruments of one meter. */
class Instruments {
  readonly calls: CallMetrics;
  readonly #gauges: Gauges;
  readonly #observe: BatchObservableCallback;
  #snapshot: (() => Snapshot) | undefined;

  constructor(meter: Meter, snapshot: () => Snapshot) {
    this.calls = new CallMetrics(meter);
    this.#gauges = new Gauges(meter);
    this.#snapshot = snapshot;
    const all = [...this.#gauges.all];
    this.#observe = (result) => {
      const seen = this.#snapshot?.();
      this.#gauges.observe(result, seen);
      if (seen !== undefined) this.calls.tell(seen);
      // A callback that removes itself while the SDK walks its list makes it skip the next one.
      else void Promise.resolve().then(() => meter.removeBatchObservableCallback(this.#observe, all));
    };
    meter.addBatchObservableCallback(this.#observe, all);
  }

  /** The last counts are told now; the gauges fall to 0 at the next collection, then nothing is left. */
  close(): void {
    const snapshot = this.#snapshot;
    this.#snapshot = undefined;
    if (snapshot !== undefined) this.calls.tell(snapshot());
  }
}

/** Follows the meter provider: an SDK registered after the dispatcher was made is found at the next call. */
export class Meters {
  readonly #version: string;
  readonly #snapshot: () => Snapshot;
  readonly #fixed: MeterProvider | undefined;
  #seen: MeterProvider | undefined;
  #instruments: Instruments | undefined;
  #isClosed = false;

  constructor(host: { readonly snapshot: () => Snapshot; readonly version: string }, fixed?: MeterProvider) {
    this.#version = host.version;
    this.#snapshot = host.snapshot;
    this.#fixed = fixed;
  }

  /** What calls are told to, or `undefined` where nobody collects. */
  current(): CallMetrics | undefined {
    const provider = this.#fixed ?? registeredMeterProvider();
    if (provider !== this.#seen && !this.#isClosed) this.#follow(provider);
    return this.#instruments?.calls;
  }

  close(): void {
    this.#isClosed = true;
    this.#instruments?.close();
    this.#instruments = undefined;
  }

  #follow(provider: MeterProvider): void {
    this.#seen = provider;
    this.#instruments?.close();
    const meter = realMeter(provider, this.#version);
    this.#instruments = meter === undefined ? undefined : new Instruments(meter, this.#snapshot);
  }
}
