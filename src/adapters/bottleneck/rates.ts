import { formatDuration } from '../../base/duration.ts';
import { type Found, LONGEST_MS } from './found.ts';

/** Bottleneck looks at its reservoir this often, whatever interval is set: 250 ms, with Redis 5 s. */
const HEARTBEATS = 'Bottleneck looks every 250 ms (with Redis every 5 s), so its own interval may have been longer';

/** `maxConcurrent` and `minTime`. */
export function readPace(found: Found): void {
  const { policy } = found;
  const most = found.number('maxConcurrent');
  if (most !== undefined && most < 1) {
    found.leave(
      'maxConcurrent',
      'less than 1 lets no job run at all; no policy does that',
      "dispatcher.pause('<downstream>', { for: '1h' }) while nothing is to run",
    );
  } else if (most !== undefined && most > Number.MAX_SAFE_INTEGER) {
    found.carry('maxConcurrent', 'no limit: the option is left out');
  } else if (most !== undefined) {
    policy.maxConcurrent = Math.floor(most);
    found.carry('maxConcurrent', `maxConcurrent: ${policy.maxConcurrent}; with it maxRun is 10m unless you set it`);
  }
  const gap = found.number('minTime');
  if (gap === undefined || gap === 0) return;
  if (gap > LONGEST_MS) {
    found.fail('minTime', 'a number of milliseconds up to 366 days');
    return;
  }
  policy.minInterval = gap;
  found.carry(
    'minTime',
    `minInterval: ${gap}; where it stands for a published quota (${formatDuration(gap)} = ${perMinute(gap)} a minute), declare that as quota instead: alerts can then say what the server says otherwise`,
  );
}

/** The reservoir, and what fills it. */
export function readReservoir(found: Found): void {
  const refresh = pairOf(found, 'reservoirRefreshAmount', 'reservoirRefreshInterval');
  const increase = pairOf(found, 'reservoirIncreaseAmount', 'reservoirIncreaseInterval');
  const first = found.number('reservoir', Number.NEGATIVE_INFINITY);
  const maximum = found.number('reservoirIncreaseMaximum');
  if (refresh !== undefined) readRefresh(found, refresh, first);
  if (increase !== undefined) readIncrease(found, increase, maximum, refresh !== undefined);
  if (found.isSet('reservoirIncreaseMaximum') && increase === undefined) {
    found.leave('reservoirIncreaseMaximum', 'read only with reservoirIncreaseAmount and its interval', 'nothing');
  }
  if (refresh !== undefined || first === undefined) return;
  if (first === Number.POSITIVE_INFINITY) {
    found.carry('reservoir', 'no limit: the option is left out');
    return;
  }
  if (increase === undefined) {
    found.leave(
      'reservoir',
      'nothing fills it again: it is a total for the life of the limiter, and a policy has quotas per window only',
      'declare the quota that it stands for (quota: 500/day), or count it in your own code',
    );
  } else if (first !== (maximum ?? first)) {
    found.leave('reservoir', 'a lane begins with a full bucket', 'nothing: the first seconds alone differ');
  } else {
    found.carry('reservoir', 'the quota: a lane begins as if it had been idle');
  }
}

interface Filling {
  readonly amount: number;
  readonly intervalMs: number;
}

/** Bottleneck acts on the two together alone. */
function pairOf(found: Found, amountName: string, intervalName: string): Filling | undefined {
  const amount = found.number(amountName);
  const intervalMs = found.number(intervalName);
  if (amount === undefined || intervalMs === undefined) {
    for (const [one, other] of [
      [amountName, intervalName],
      [intervalName, amountName],
    ] as const) {
      if (found.isSet(one) && !found.isSet(other)) found.leave(one, `read only together with ${other}`, 'nothing');
    }
    return undefined;
  }
  if (intervalMs <= 0 || intervalMs > LONGEST_MS) {
    found.fail(intervalName, 'a number of milliseconds, more than 0, up to 366 days');
    return undefined;
  }
  if (amount < 1 || amount > Number.MAX_SAFE_INTEGER) {
    found.leave(
      amountName,
      amount < 1 ? 'less than one permit for each interval' : 'no limit at all',
      amount === 0 ? 'nothing ever fills the reservoir: see reservoir' : 'declare the quota that it stands for',
    );
    found.leave(intervalName, `goes with ${amountName}`, 'the same');
    return undefined;
  }
  return { amount: Math.floor(amount), intervalMs };
}

function readRefresh(found: Found, { amount, intervalMs }: Filling, first: number | undefined): void {
  const { policy } = found;
  policy.quota = { limit: amount, per: intervalMs };
  policy.utilization = 1;
  const quota = `${amount} per ${formatDuration(intervalMs)}`;
  found.carry(
    'reservoirRefreshAmount',
    `quota: ${quota} with utilization: 1, the same rate. Penstock counts every window wherever it begins; a reservoir that is filled up all at once lets twice as much pass around its refresh. Take utilization away once the quota is what the server publishes: 0.8 leaves room for jitter and for a burst`,
  );
  found.carry('reservoirRefreshInterval', `the window of that quota; ${HEARTBEATS}`);
  found.leave(
    'reservoirRefreshAmount',
    `that all ${amount} may start at once at the beginning of an interval: they are spread over it`,
    'a lower utilization leaves room for a burst; if the server runs a token bucket, declare its size as providerBurst',
  );
  if (first === undefined) return;
  if (first === amount) found.carry('reservoir', 'the quota: a lane begins as if it had been idle');
  else found.leave('reservoir', 'the first interval is like every other', 'nothing: it differs once, at the start');
}

function readIncrease(found: Found, filling: Filling, maximum: number | undefined, hasRefresh: boolean): void {
  const { amount, intervalMs } = filling;
  const { policy } = found;
  if (hasRefresh) {
    for (const option of ['reservoirIncreaseAmount', 'reservoirIncreaseInterval', 'reservoirIncreaseMaximum']) {
      if (!found.isSet(option)) continue;
      found.leave(
        option,
        'the reservoir is refreshed too, and one quota stands for one of the two',
        'add it as a second quota if the server counts both',
      );
    }
    return;
  }
  if (maximum !== undefined && maximum < 1) {
    for (const option of ['reservoirIncreaseMaximum', 'reservoirIncreaseAmount', 'reservoirIncreaseInterval']) {
      found.leave(
        option,
        'a reservoir that holds less than one permit lets no job run',
        "dispatcher.pause('<downstream>', { for: '1h' }) while nothing is to run",
      );
    }
    return;
  }
  const isBounded = maximum !== undefined && maximum <= Number.MAX_SAFE_INTEGER;
  const size = isBounded ? Math.floor(maximum) : amount;
  const limit = Math.min(amount, size);
  policy.quota = { limit, per: intervalMs, burst: size, providerBurst: size };
  policy.utilization = 1;
  const quota = `${limit} per ${formatDuration(intervalMs)}`;
  found.carry(
    'reservoirIncreaseAmount',
    `quota: ${quota} with utilization: 1, the same rate, evenly rather than in steps`,
  );
  found.carry('reservoirIncreaseInterval', `the window of that quota; ${HEARTBEATS}`);
  if (isBounded) {
    found.carry(
      'reservoirIncreaseMaximum',
      `burst and providerBurst: ${size}, so many at once after an idle spell. That says that the server runs a bucket of this size itself; if it does not, take providerBurst and burst away, and no window holds more than the quota`,
    );
    return;
  }
  found.leave(
    'reservoirIncreaseAmount',
    'without reservoirIncreaseMaximum an idle limiter saves up without end',
    `burst and providerBurst are ${size}; set them to what the server allows at once`,
  );
}

function perMinute(gapMs: number): string {
  return String(Math.round((60_000 / gapMs) * 100) / 100);
}
