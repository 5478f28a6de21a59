import { expect, test } from 'vitest';
import type { Alert } from '../../../src/index.ts';
import { serving, watching } from './support.ts';

const HOUR = 3_600_000;

function collecting(): { sink: { name: string; deliver: (alert: Alert) => void }; got: Alert[] } {
  const got: Alert[] = [];
  return { sink: { name: 'memory', deliver: (alert) => void got.push(alert) }, got };
}

async function get(url: string): Promise<void> {
  await (await fetch(url)).text();
}

test('one alert for each host and hour, which says how many there were', async () => {
  const one = await serving();
  const two = await serving();
  const { clock, alerts } = watching({ carrier: { unlimited: true, hosts: [one.host, two.host] } });
  for (let i = 0; i < 4; i++) await get(one.url);
  await get(two.url);
  await get(two.url);
  expect(alerts.map(({ explanation }) => explanation.split('\n')[1])).toEqual([
    `Requests to ${one.host} (1 so far) were made outside any call of carrier. This process has been up for 0 ms.`,
    `Requests to ${two.host} (1 so far), ${one.host} (4 so far) were made outside any call of carrier. This process has been up for 0 ms.`,
  ]);
  await clock.advance(HOUR - 1);
  await get(one.url);
  expect(alerts).toHaveLength(2);
  await clock.advance(1);
  await get(one.url);
  expect(alerts).toHaveLength(3);
  expect(alerts[2]?.explanation).toContain(`${one.host} (1 so far, 5 in the hour before)`);
});

test('it comes with what the policy says of the downstream, and reaches its sinks', async () => {
  const { host, url } = await serving();
  const { sink, got } = collecting();
  const policy = { owner: 'team-a', source: 'contract', runbook: 'https://wiki.example/carrier' };
  const { clock, alerts, dispatcher } = watching(
    { carrier: { unlimited: true, hosts: [host], ...policy } },
    { sinks: [sink] },
  );
  await get(url);
  await dispatcher.flush();
  expect(alerts).toMatchObject([
    { ...policy, name: 'UngatedRequest', hypothesis: 'unknown', action: { kind: 'none' } },
  ]);
  expect(got.map(({ status, incident }) => [status, incident.id])).toEqual([['firing', alerts[0]?.incident.id]]);
  // While it goes on it is one incident; once it was not seen for longer than the hour it is over.
  await clock.advance(HOUR);
  await get(url);
  await dispatcher.flush();
  expect(alerts[1]?.incident.id).toBe(alerts[0]?.incident.id);
  await clock.advance(2 * HOUR);
  await dispatcher.flush();
  expect(got.map(({ status }) => status)).toEqual(['firing', 'firing', 'resolved']);
  expect(got.at(-1)?.explanation).toMatch(/^No request to carrier was seen that passed no gate: nothing for 75 min/);
  await get(url);
  expect(alerts[2]?.incident.id).not.toBe(alerts[0]?.incident.id);
});

test('a downstream that is muted: no sink hears of it, the event and onAlert go on', async () => {
  const { host, url } = await serving();
  const { sink, got } = collecting();
  const mute = { until: '2026-01-02', reason: 'known' };
  const { alerts, dispatcher, details } = watching(
    { carrier: { unlimited: true, hosts: [host], mute } },
    { sinks: [sink] },
  );
  await get(url);
  await dispatcher.flush();
  expect([got.length, alerts.length, details('ungated-request').length]).toEqual([0, 1, 1]);
});

test('a flood is counted, and told a thousand times an hour at most', async () => {
  const { host, url } = await serving();
  const { watch, details } = watching({ carrier: { unlimited: true, hosts: [host] } });
  for (let i = 0; i < 11; i++) await Promise.all(Array.from({ length: 100 }, () => get(url)));
  expect(details('ungated-request')).toHaveLength(1_000);
  expect(watch.inventory().claimed).toMatchObject([{ ungated: 1_100 }]);
});
