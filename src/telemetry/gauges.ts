import type { Attributes, BatchObservableResult, Meter, ObservableGauge } from '@opentelemetry/api';
import type { DownstreamSnapshot, Snapshot } from '../base/snapshot.ts';
import { type HoldCause, type Mode, PRIORITIES } from '../base/words.ts';
import { ATTRIBUTE, METRICS } from './names.ts';

const HOLD_CAUSES: readonly HoldCause[] = ['retry-after', 'quota-reset', 'cooldown', 'operator'];
const MODES: readonly Mode[] = ['enforce', 'observe', 'off'];

type GaugeKey = {
  [Key in keyof typeof METRICS]: (typeof METRICS)[Key]['kind'] extends 'gauge' ? Key : never;
}[keyof typeof METRICS];

/** One line of a gauge that was observed, and in which round. */
interface Line {
  readonly gauge: ObservableGauge;
  readonly attributes: Attributes;
  round: number;
}

/** What a lane looks like while it stands still: observed from a snapshot, costs a call nothing. */
export class Gauges {
  readonly all: readonly ObservableGauge[];
  readonly #gauges: ReadonlyMap<GaugeKey, ObservableGauge>;
  readonly #lines = new Map<string, Line>();
  #round = 0;

  constructor(meter: Meter) {
    const gauges = new Map<GaugeKey, ObservableGauge>();
    for (const [key, spec] of Object.entries(METRICS)) {
      if (spec.kind !== 'gauge') continue;
      const { name, unit, description } = spec;
      gauges.set(key as GaugeKey, meter.createObservableGauge(name, { unit, description }));
    }
    this.#gauges = gauges;
    this.all = [...gauges.values()];
  }

  /**
   * Observes every lane. What was there last time and is not now (a downstream unregistered, a quota or
   * the whole policy changed; without a snapshot everything) is observed once more as 0: an SDK that exports cumulative
   * values repeats the last one it saw for ever.
   */
  observe(result: BatchObservableResult, snapshot?: Snapshot): void {
    this.#round += 1;
    for (const lane of snapshot?.downstreams ?? []) this.#lane(result, lane);
    if (snapshot !== undefined) this.#see(result, 'policy', 1, { [ATTRIBUTE.hash]: snapshot.policyHash });
    for (const [key, line] of this.#lines) {
      if (line.round === this.#round) continue;
      result.observe(line.gauge, 0, line.attributes);
      this.#lines.delete(key);
    }
  }

  #lane(result: BatchObservableResult, lane: DownstreamSnapshot): void {
    const own: Attributes = { [ATTRIBUTE.downstream]: lane.downstream };
    const see = (key: GaugeKey, value: number, attribute?: string, of?: string): void =>
      this.#see(result, key, value, attribute === undefined ? own : { ...own, [attribute]: of });
    for (const priority of PRIORITIES) {
      const waiting = lane.classes[priority];
      see('queueLength', waiting.length, ATTRIBUTE.priority, priority);
      see('queueOldest', waiting.oldestMs, ATTRIBUTE.priority, priority);
    }
    see('expectedWait', lane.expectedWaitMs);
    see('inFlight', lane.running);
    see('orphaned', lane.orphaned);
    for (const bucket of lane.quotas) {
      see('permits', bucket.permits, ATTRIBUTE.quota, bucket.quota);
      see('rateDeclared', bucket.declaredPerSecond, ATTRIBUTE.quota, bucket.quota);
      see('rateSized', bucket.sizedPerSecond, ATTRIBUTE.quota, bucket.quota);
    }
    for (const cause of HOLD_CAUSES) {
      const hold = lane.holds.find((held) => held.cause === cause);
      see('hold', hold?.leftMs ?? 0, ATTRIBUTE.cause, cause);
    }
    see('paused', lane.isPaused ? 1 : 0);
    for (const mode of MODES) see('mode', mode === lane.mode ? 1 : 0, ATTRIBUTE.mode, mode);
  }

  #see(result: BatchObservableResult, gaugeKey: GaugeKey, value: number, attributes: Attributes): void {
    const key = JSON.stringify([gaugeKey, ...Object.values(attributes)]);
    let line = this.#lines.get(key);
    if (line === undefined) {
      const gauge = this.#gauges.get(gaugeKey);
      if (gauge === undefined) return;
      this.#lines.set(key, (line = { gauge, attributes, round: 0 }));
    }
    line.round = this.#round;
    result.observe(line.gauge, value, line.attributes);
  }
}
