import type { Counter, Histogram, Meter } from '@opentelemetry/api';
import type { CallEvent } from '../base/events.ts';
import type { Snapshot } from '../base/snapshot.ts';
import { ATTRIBUTE, METRICS, type MetricSpec, OTHER } from './names.ts';
import { type Admission, DownstreamSeries, Tally, type WouldBe } from './series.ts';
import { UnclaimedSeries } from './unclaimed.ts';

/** What calls leave behind: two histograms told at once, counters told when they are collected. */
export class CallMetrics {
  readonly #wait: Histogram;
  readonly #wouldWait: Histogram;
  readonly #call: Histogram;
  readonly #admissions: Counter;
  readonly #throttled: Counter;
  readonly #dropped: Counter;
  readonly #series = new Map<string, DownstreamSeries>();
  readonly #unnamed = new DownstreamSeries(OTHER);
  readonly #sinks = new Map<string, Tally>();
  readonly #unclaimed: UnclaimedSeries;

  constructor(meter: Meter) {
    this.#wait = histogram(meter, METRICS.wait);
    this.#wouldWait = histogram(meter, METRICS.wouldWait);
    this.#call = histogram(meter, METRICS.call);
    this.#admissions = counter(meter, METRICS.admissions);
    this.#throttled = counter(meter, METRICS.throttled);
    this.#dropped = counter(meter, METRICS.alertsDropped);
    this.#unclaimed = new UnclaimedSeries(counter(meter, METRICS.unclaimed));
  }

  take(event: CallEvent): void {
    switch (event.type) {
      case 'queued':
        return;
      case 'started':
        this.#admitted('started', event);
        return;
      case 'refused':
        this.#admitted('refused', event);
        return;
      case 'aborted':
        if (event.started === true) this.#ran(event);
        else this.#admitted('aborted', event);
        return;
      case 'settled':
        this.#ran(event);
        return;
      case 'would-start':
        this.#wouldBe('started', event);
        return;
      case 'would-refuse':
        this.#of(event.downstream).countWouldRefuse(event);
        this.#wouldBe('would_refuse', event);
    }
  }

  /** Tells the counters; forgets downstreams that the snapshot no longer has. */
  tell(snapshot: Snapshot): void {
    const gone = new Set(this.#series.keys());
    for (const { downstream, totals, mode } of snapshot.downstreams) {
      gone.delete(downstream);
      const series = this.#of(downstream);
      series.throttled.count = totals.throttled;
      series.throttled.tell(this.#throttled);
      series.tell(this.#admissions, mode);
    }
    for (const name of gone) {
      this.#series.get(name)?.tell(this.#admissions);
      this.#series.delete(name);
    }
    this.#unnamed.tellRefusals(this.#admissions);
    this.#tellDropped(snapshot.alerts.dropped);
    if (snapshot.inventory !== undefined) this.#unclaimed.tell(snapshot.inventory);
  }

  #tellDropped(dropped: Readonly<Record<string, number>>): void {
    for (const [sink, count] of Object.entries(dropped)) {
      let tally = this.#sinks.get(sink);
      if (tally === undefined) this.#sinks.set(sink, (tally = new Tally({ [ATTRIBUTE.sink]: sink })));
      tally.count = count;
      tally.tell(this.#dropped);
    }
  }

  #admitted(admission: Admission, event: CallEvent): void {
    const series = this.#for(event);
    series.count(admission, event);
    this.#wait.record(event.waitedMs, series.wait[admission][event.priority]);
  }

  #wouldBe(outcome: WouldBe, event: CallEvent): void {
    this.#wouldWait.record(event.waitedMs, this.#of(event.downstream).wouldWait[outcome][event.priority]);
  }

  #ran(event: CallEvent): void {
    if (event.callMs === undefined) return;
    this.#call.record(event.callMs, this.#of(event.downstream).call[event.outcome ?? 'cancelled']);
  }

  /** A name that came with the call and that no policy need know must not become a series. */
  #for(event: CallEvent): DownstreamSeries {
    const isDoubtful = event.code === 'UNKNOWN_DOWNSTREAM' || event.code === 'INVALID_CALL';
    return isDoubtful ? (this.#series.get(event.downstream) ?? this.#unnamed) : this.#of(event.downstream);
  }

  #of(downstream: string): DownstreamSeries {
    let series = this.#series.get(downstream);
    if (series === undefined) {
      series = new DownstreamSeries(downstream);
      this.#series.set(downstream, series);
    }
    return series;
  }
}

function histogram(meter: Meter, spec: MetricSpec): Histogram {
  const { unit, description, boundaries = [] } = spec;
  return meter.createHistogram(spec.name, {
    unit,
    description,
    advice: { explicitBucketBoundaries: [...boundaries] },
  });
}

function counter(meter: Meter, { name, unit, description }: MetricSpec): Counter {
  return meter.createCounter(name, { unit, description });
}
