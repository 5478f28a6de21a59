import type { Meter } from '@opentelemetry/api';
import type { Dispatcher } from '../../../src/index.ts';
import { METRICS } from '../../../src/telemetry/names.ts';

/** Metrics that the table names and no dispatcher tells yet. Empty this list as they come; then nothing stands in. */
export const STAND_INS: readonly (keyof typeof METRICS)[] = ['paused', 'mode', 'policy', 'wouldWait'];

/** Tells them from what the snapshot says, through the same API as the dispatcher does. */
export function standIn(meter: Meter, dispatcher: Dispatcher): void {
  const lanes = () => dispatcher.snapshot().downstreams;
  for (const key of STAND_INS) {
    const { name, unit, kind } = METRICS[key];
    if (kind === 'histogram') {
      wouldHave(meter);
      continue;
    }
    meter.createObservableGauge(name, { unit }).addCallback((result) => {
      if (key === 'policy') return result.observe(1, { hash: dispatcher.snapshot().policyHash });
      for (const { downstream, isPaused, mode } of lanes()) {
        if (key === 'paused') result.observe(isPaused ? 1 : 0, { downstream });
        else
          for (const one of ['enforce', 'observe', 'off'])
            result.observe(one === mode ? 1 : 0, { downstream, mode: one });
      }
    });
  }
}

/** What a downstream in mode observe would tell of calls that would have waited, or been refused. */
function wouldHave(meter: Meter): void {
  const { wouldWait, admissions } = METRICS;
  const waits = meter.createHistogram(wouldWait.name, { unit: wouldWait.unit });
  const { unit, description } = admissions;
  const counts = meter.createCounter(admissions.name, { unit, description });
  const timer = setInterval(() => {
    waits.record(20, { downstream: 'guessed', outcome: 'started' });
    counts.add(1, { downstream: 'guessed', outcome: 'would_refuse', 'error.type': 'DEADLINE_EXCEEDED' });
  }, 200);
  timer.unref();
}
