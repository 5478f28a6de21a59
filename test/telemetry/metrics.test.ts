import { DataPointType } from '@opentelemetry/sdk-metrics';
import { describe, expect, test } from 'vitest';
import { PRIORITIES } from '../../src/base/words.ts';
import { METRICS, type MetricSpec } from '../../src/telemetry/names.ts';
import { lane, totals } from '../support/lanes.ts';
import { busy, callEvent, host, inventory, measured } from './harness.ts';

/** Codes with which a lane refuses. */
const REFUSALS = [
  'DEADLINE_EXCEEDED',
  'RATE_LIMIT_QUEUE_FULL',
  'RATE_LIMIT_QUEUE_TIMEOUT',
  'RATE_LIMITED',
  'COST_EXCEEDS_QUOTA',
  'INVALID_CALL',
  'CANCELLED',
  'DISPATCHER_CLOSED',
];

describe('what is exported', () => {
  test('every metric of the table has its name, unit, description, type and attribute names', async () => {
    const { lab, feed, state } = measured(host([busy]));
    state.dropped = { slack: 1 };
    state.inventory = inventory({ 'api.example.com': 1 });
    feed(
      callEvent('started', { waitedMs: 5 }),
      callEvent('settled', { outcome: 'success', callMs: 12 }),
      callEvent('refused', { callId: 2, code: 'RATE_LIMITED' }),
      callEvent('would-refuse', { callId: 3, code: 'DEADLINE_EXCEEDED' }),
    );
    const exported = await lab.collect();
    const types = {
      histogram: DataPointType.HISTOGRAM,
      counter: DataPointType.SUM,
      gauge: DataPointType.GAUGE,
    };
    const specs: readonly MetricSpec[] = Object.values(METRICS);
    expect([...exported.keys()].sort()).toEqual(specs.map((spec) => spec.name).sort());
    for (const spec of specs) {
      const metric = exported.get(spec.name)!;
      expect(metric.descriptor, spec.name).toMatchObject({ unit: spec.unit, description: spec.description });
      expect(metric.dataPointType, spec.name).toBe(types[spec.kind]);
      const keys = new Set(metric.dataPoints.flatMap((point) => Object.keys(point.attributes)));
      expect([...keys].sort(), spec.name).toEqual([...spec.attributes].sort());
    }
  });

  test('the scope is penstock with the version of the package', async () => {
    const { lab } = measured();
    await lab.collect();
    const scope = lab.exporter.getMetrics().at(-1)?.scopeMetrics[0]?.scope;
    expect(scope).toMatchObject({ name: 'penstock', version: '1.2.3' });
  });

  test('buckets reach from one millisecond to five minutes', async () => {
    const { lab, feed } = measured();
    feed(callEvent('started', { waitedMs: 0.4 }), callEvent('started', { callId: 2, waitedMs: 290_000 }));
    const value = (await lab.histogram('downstream.wait_ms'))['downstream=carrier,outcome=started,priority=normal']!;
    expect(value.buckets.boundaries.at(0)).toBe(1);
    expect(value.buckets.boundaries.at(-1)).toBe(300_000);
    expect(value.buckets.counts.at(0)).toBe(1);
    expect(value.buckets.counts.at(-1)).toBe(0);
  });
});

describe('calls', () => {
  test('each wait is recorded once, whatever way the call ends', async () => {
    const { lab, feed } = measured();
    feed(
      callEvent('queued', { callId: 1 }),
      callEvent('started', { callId: 1, waitedMs: 10 }),
      callEvent('settled', { callId: 1, waitedMs: 10, outcome: 'success', callMs: 7 }),
      callEvent('queued', { callId: 2, priority: 'batch' }),
      callEvent('refused', { callId: 2, priority: 'batch', waitedMs: 20, code: 'DEADLINE_EXCEEDED' }),
      callEvent('queued', { callId: 3 }),
      callEvent('aborted', { callId: 3, waitedMs: 30, started: false }),
      callEvent('started', { callId: 4, waitedMs: 40 }),
      callEvent('aborted', { callId: 4, waitedMs: 40, started: true, callMs: 9 }),
      callEvent('started', { callId: 5, waitedMs: 50 }),
      callEvent('settled', {
        callId: 5,
        waitedMs: 50,
        code: 'DEADLINE_EXCEEDED',
        outcome: 'cancelled',
        callMs: 3,
      }),
    );
    const waits = await lab.histogram('downstream.wait_ms');
    const sums = Object.fromEntries(Object.entries(waits).map(([key, value]) => [key, [value.count, value.sum]]));
    expect(sums).toEqual({
      'downstream=carrier,outcome=started,priority=normal': [3, 100],
      'downstream=carrier,outcome=refused,priority=batch': [1, 20],
      'downstream=carrier,outcome=aborted,priority=normal': [1, 30],
    });
    const calls = await lab.histogram('downstream.call_ms');
    expect(calls['downstream=carrier,outcome=success']).toMatchObject({ count: 1, sum: 7 });
    expect(calls['downstream=carrier,outcome=cancelled']).toMatchObject({ count: 2, sum: 12 });
  });

  test('admissions count what was decided and why; every series a lane can reach is there from 0', async () => {
    const { lab, feed } = measured();
    const before = await lab.points('downstream.admissions');
    expect(before).toEqual({
      'downstream=carrier,outcome=started': 0,
      'downstream=carrier,outcome=aborted': 0,
      ...Object.fromEntries(REFUSALS.map((code) => [`downstream=carrier,error.type=${code},outcome=refused`, 0])),
    });
    feed(
      callEvent('started'),
      callEvent('aborted', { started: true, callMs: 1 }),
      callEvent('aborted', { callId: 2 }),
      callEvent('refused', { callId: 3, code: 'COST_EXCEEDS_QUOTA' }),
      callEvent('refused', { callId: 4, code: 'RATE_LIMITED' }),
    );
    const after = await lab.points('downstream.admissions');
    expect(after).toMatchObject({
      'downstream=carrier,outcome=started': 1,
      'downstream=carrier,outcome=aborted': 1,
      'downstream=carrier,error.type=COST_EXCEEDS_QUOTA,outcome=refused': 1,
      'downstream=carrier,error.type=RATE_LIMITED,outcome=refused': 1,
      'downstream=carrier,error.type=DEADLINE_EXCEEDED,outcome=refused': 0,
    });
    expect(await lab.points('downstream.admissions')).toEqual(after);
  });

  test('throttled starts at 0 for every downstream and never goes back', async () => {
    const { lab, state } = measured(host([lane('carrier'), lane('mail')]));
    expect(await lab.points('downstream.throttled')).toEqual({
      'downstream=carrier': 0,
      'downstream=mail': 0,
    });
    state.lanes = [lane('carrier', { totals: totals({ throttled: 3 }) }), lane('mail')];
    expect(await lab.points('downstream.throttled')).toEqual({
      'downstream=carrier': 3,
      'downstream=mail': 0,
    });
    state.lanes = [lane('carrier', { totals: totals({ throttled: 1 }) }), lane('mail')];
    expect(await lab.points('downstream.throttled')).toEqual({
      'downstream=carrier': 3,
      'downstream=mail': 0,
    });
  });

  test('what a downstream that is observed would have done is counted apart from what was done', async () => {
    const { lab, feed } = measured(host([lane('carrier', { mode: 'observe' }), lane('mail')]));
    const before = await lab.points('downstream.admissions');
    const would = Object.keys(before).filter((key) => key.includes('would_refuse'));
    const foreseen = REFUSALS.slice(0, 5).map((code) => `downstream=carrier,error.type=${code},outcome=would_refuse`);
    expect(would.sort()).toEqual(foreseen.sort());
    expect(would.map((key) => before[key])).toEqual([0, 0, 0, 0, 0]);
    feed(
      callEvent('started', { callId: 1 }),
      callEvent('would-start', { callId: 1, waitedMs: 70 }),
      callEvent('started', { callId: 2 }),
      callEvent('would-refuse', { callId: 2, waitedMs: 30, code: 'DEADLINE_EXCEEDED', priority: 'batch' }),
    );
    const admissions = await lab.points('downstream.admissions');
    expect(admissions['downstream=carrier,outcome=started']).toBe(2);
    expect(admissions['downstream=carrier,error.type=DEADLINE_EXCEEDED,outcome=would_refuse']).toBe(1);
    expect(admissions['downstream=carrier,error.type=DEADLINE_EXCEEDED,outcome=refused']).toBe(0);
    const waits = await lab.histogram('downstream.wait_ms');
    expect(Object.entries(waits).map(([key, { count, sum }]) => [key, count, sum])).toEqual([
      ['downstream=carrier,outcome=started,priority=normal', 2, 0],
    ]);
    const wouldWait = await lab.histogram('downstream.would_wait_ms');
    expect(Object.entries(wouldWait).map(([key, { count, sum }]) => [key, count, sum])).toEqual([
      ['downstream=carrier,outcome=started,priority=normal', 1, 70],
      ['downstream=carrier,outcome=would_refuse,priority=batch', 1, 30],
    ]);
  });

  test('requests to hosts of no downstream are counted by host, fifty of them by name', async () => {
    const { lab, state } = measured();
    state.inventory = inventory({ 'api.example.com': 3, 'api.example.com:8443': 1, '[::1]:9000': 2 });
    await lab.collect();
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`h${i}.example`, 1]));
    state.inventory = inventory({ ...many, 'api.example.com': 5, 'api.example.com:8443': 1, '[::1]:9000': 2 }, 7);
    const counts = await lab.points('downstream.unclaimed_requests');
    expect(counts).toMatchObject({ 'server.address=api.example.com': 6, 'server.address=[::1]': 2 });
    expect(Object.keys(counts)).toHaveLength(51);
    // Those that came too late, and those that are not even listed.
    expect(counts['server.address=_OTHER']).toBe(12 + 7);
  });

  test('dropped alerts are counted per sink', async () => {
    const { lab, state } = measured();
    state.dropped = { slack: 0, pager: 2 };
    expect(await lab.points('downstream.alerts.dropped')).toEqual({ 'sink=slack': 0, 'sink=pager': 2 });
  });

  test('B107: 100,000 calls with ids of their own make no more series than downstreams, outcomes and priorities', async () => {
    const names = ['carrier', 'mail'];
    const { lab, feed } = measured(host(names.map((name) => lane(name))));
    const priorities = PRIORITIES;
    for (let callId = 0; callId < 100_000; callId++) {
      const call = {
        callId,
        downstream: names[callId % 2]!,
        priority: priorities[callId % 3]!,
        tool: `tool-${callId}`,
        runId: `run-${callId}`,
        waitedMs: callId % 500,
      };
      if (callId % 5 === 0) feed(callEvent('refused', { ...call, code: 'RATE_LIMITED' }));
      else feed(callEvent('started', call), callEvent('settled', { ...call, outcome: 'success', callMs: 1 }));
    }
    const exported = await lab.collect();
    expect(exported.get('downstream.wait_ms')?.dataPoints).toHaveLength(2 * 2 * 3);
    expect(exported.get('downstream.call_ms')?.dataPoints).toHaveLength(2);
    expect(exported.get('downstream.admissions')?.dataPoints).toHaveLength(2 * (2 + REFUSALS.length));
  });

  test('names that no policy knows share one series', async () => {
    const { lab, feed } = measured();
    await lab.collect();
    for (let callId = 0; callId < 1_000; callId++) {
      feed(callEvent('refused', { callId, downstream: `made-up-${callId}`, code: 'UNKNOWN_DOWNSTREAM' }));
    }
    feed(callEvent('refused', { callId: 1_000, code: 'INVALID_CALL' }));
    const admissions = await lab.points('downstream.admissions');
    expect(admissions['downstream=_OTHER,error.type=UNKNOWN_DOWNSTREAM,outcome=refused']).toBe(1_000);
    expect(admissions['downstream=carrier,error.type=INVALID_CALL,outcome=refused']).toBe(1);
    expect(Object.keys(admissions).filter((key) => key.includes('made-up'))).toEqual([]);
  });
});
