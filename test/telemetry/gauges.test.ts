import { describe, expect, test } from 'vitest';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { lane, totals } from '../support/lanes.ts';
import { busy, callEvent, host, MetricLab, measured } from './harness.ts';

describe('gauges', () => {
  test('show a lane that stands still, from one snapshot per collection', async () => {
    const { lab, state } = measured(host([busy]));
    const read = state.reads;
    const exported = await lab.collect();
    expect(state.reads - read).toBe(1);
    const value = (name: string, attributes: object): unknown =>
      exported
        .get(name)
        ?.dataPoints.find((point) => Object.entries(attributes).every(([key, of]) => point.attributes[key] === of))
        ?.value;
    expect(value('downstream.queue.length', { priority: 'batch' })).toBe(2);
    expect(value('downstream.queue.length', { priority: 'normal' })).toBe(0);
    expect(value('downstream.queue.oldest_ms', { priority: 'interactive' })).toBe(40);
    expect(value('downstream.expected_wait_ms', {})).toBe(3_750);
    expect(value('downstream.in_flight', {})).toBe(4);
    expect(value('downstream.orphaned', {})).toBe(1);
    expect(value('downstream.permits', { quota: '60/minute' })).toBe(-2);
    expect(value('downstream.rate.declared', { quota: '200000 tokens/minute' })).toBe(3_333);
    expect(value('downstream.rate.sized', { quota: '60/minute' })).toBe(0.8);
    expect(value('downstream.hold_ms', { cause: 'retry-after' })).toBe(2_500);
    expect(value('downstream.hold_ms', { cause: 'operator' })).toBe(0);
  });

  test('say whether a lane is paused, in which mode it is, and what policy runs', async () => {
    const { lab, state, telemetry } = measured(
      host([lane('carrier', { isPaused: true }), lane('mail', { mode: 'observe' })]),
    );
    expect(await lab.points('downstream.paused')).toEqual({ 'downstream=carrier': 1, 'downstream=mail': 0 });
    expect(await lab.points('downstream.mode')).toEqual({
      'downstream=carrier,mode=enforce': 1,
      'downstream=carrier,mode=observe': 0,
      'downstream=carrier,mode=off': 0,
      'downstream=mail,mode=enforce': 0,
      'downstream=mail,mode=observe': 1,
      'downstream=mail,mode=off': 0,
    });
    expect(await lab.points('downstream.policy')).toEqual({ 'hash=h': 1 });
    state.hash = 'changed';
    expect(await lab.points('downstream.policy')).toEqual({ 'hash=h': 0, 'hash=changed': 1 });
    telemetry.close();
    expect(await lab.points('downstream.policy')).toEqual({ 'hash=h': 0, 'hash=changed': 0 });
  });

  test('a call reads no snapshot', () => {
    const { feed, state, telemetry } = measured();
    const read = state.reads;
    feed(callEvent('started'), callEvent('settled', { outcome: 'success', callMs: 1 }));
    expect(telemetry.isMeasuring()).toBe(true);
    expect(state.reads).toBe(read);
  });

  test('what is gone falls to 0 instead of keeping its last value', async () => {
    const { lab, state } = measured(host([busy, lane('mail', { running: 7 })]));
    await lab.collect();
    state.lanes = [{ ...busy, quotas: [{ ...busy.quotas[0]!, quota: '90/minute' }] }];
    expect(await lab.points('downstream.in_flight')).toEqual({
      'downstream=carrier': 4,
      'downstream=mail': 0,
    });
    const declared = await lab.points('downstream.rate.declared');
    expect(declared['downstream=carrier,quota=60/minute']).toBe(0);
    expect(declared['downstream=carrier,quota=90/minute']).toBe(1);
  });
});

describe('close', () => {
  test('tells the last counts, lets the gauges fall to 0 and then reads nothing more', async () => {
    const { lab, feed, state, telemetry } = measured(host([busy]));
    await lab.collect();
    feed(callEvent('started'));
    state.lanes = [{ ...busy, totals: totals({ throttled: 5 }) }];
    telemetry.close();
    telemetry.close();
    const read = state.reads;
    feed(callEvent('started', { callId: 2, waitedMs: 3 }));
    expect(telemetry.isMeasuring()).toBe(false);
    expect(telemetry.isTracing()).toBe(false);
    const exported = await lab.collect();
    expect(exported.get('downstream.in_flight')?.dataPoints.map((point) => point.value)).toEqual([0]);
    expect(exported.get('downstream.throttled')?.dataPoints[0]?.value).toBe(5);
    expect(exported.get('downstream.admissions')?.dataPoints[0]?.value).toBe(1);
    expect(state.reads).toBe(read);
  });

  test('a dispatcher closed before any collection still has its counts exported', async () => {
    const { lab, feed, telemetry } = measured();
    feed(callEvent('started'));
    telemetry.close();
    expect((await lab.points('downstream.admissions'))['downstream=carrier,outcome=started']).toBe(1);
    expect(await lab.points('downstream.in_flight')).toEqual({});
  });

  test('two dispatchers of one process add up in one counter', async () => {
    const lab = new MetricLab();
    const one = createTelemetry(host(), { meterProvider: lab.provider });
    const two = createTelemetry(host(), { meterProvider: lab.provider });
    one.take(callEvent('started'));
    two.take(callEvent('started'));
    expect((await lab.points('downstream.admissions'))['downstream=carrier,outcome=started']).toBe(2);
  });

  test('the last word of one dispatcher hides nothing of another', async () => {
    const { lab, telemetry } = measured(host([lane('carrier', { running: 2 })]));
    const mail = host([lane('mail', { running: 1 })]);
    createTelemetry(mail, { meterProvider: lab.provider });
    const after = host([lane('carrier', { running: 3 })]);
    createTelemetry(after, { meterProvider: lab.provider });
    await lab.collect();
    telemetry.close();
    after.lanes = [lane('carrier', { running: 4 })];
    mail.lanes = [lane('mail', { running: 6 })];
    expect(await lab.points('downstream.in_flight')).toEqual({
      'downstream=carrier': 4,
      'downstream=mail': 6,
    });
  });
});
