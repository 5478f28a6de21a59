import { fold } from '../base/nearest.ts';
import { quotaText } from '../base/quota-text.ts';
import { REQUESTS } from '../base/words.ts';

type Translate = (value: unknown) => string;
type Options = Readonly<Record<string, unknown>>;

/** `quota: "60/minute"` for a number; a form to fill in for anything else. */
function quotaPer(window: string, unit = ''): Translate {
  return (value) => `write quota: "${isNumber(value) ? value : 'N'}${unit}/${window}"`;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function say(text: string): Translate {
  return () => text;
}

function sameAs(own: string): Translate {
  return (value) =>
    typeof value === 'number' || typeof value === 'string' ? `write ${own}: ${value}` : `write ${own}`;
}

/** Milliseconds elsewhere, a duration here: the number stays as it is. */
const PER_WINDOW = say('name the limit and its window in one: quota: "N/minute", or { limit: N, per: MS }');
const LIMIT_WITHOUT_WINDOW: Translate = (value) =>
  `say per what: quota: "${isNumber(value) ? value : 'N'}/minute"; for calls in flight write maxConcurrent`;

/** Options of other limiters, as people paste them; spelled without case, `_` and `-`. */
const FOREIGN: ReadonlyMap<string, Translate> = new Map([
  ...perWindow('second', ['sec', 'second', 's']),
  ...perWindow('minute', ['min', 'minute']),
  ...perWindow('hour', ['hour', 'h']),
  ...perWindow('day', ['day', 'd']),
  ['rps', quotaPer('second')],
  ['qps', quotaPer('second')],
  ['tps', quotaPer('second')],
  ['rpm', quotaPer('minute')],
  ['rph', quotaPer('hour')],
  ['rpd', quotaPer('day')],
  ['tpm', quotaPer('minute', ' tokens')],
  ['tpd', quotaPer('day', ' tokens')],
  ['ratelimit', LIMIT_WITHOUT_WINDOW],
  ['rate', LIMIT_WITHOUT_WINDOW],
  ['limit', LIMIT_WITHOUT_WINDOW],
  ['maxrequests', LIMIT_WITHOUT_WINDOW],
  ['points', LIMIT_WITHOUT_WINDOW],
  ['reservoir', LIMIT_WITHOUT_WINDOW],
  ['intervalcap', LIMIT_WITHOUT_WINDOW],
  ['tokensperinterval', LIMIT_WITHOUT_WINDOW],
  ['permilliseconds', PER_WINDOW],
  ['interval', PER_WINDOW],
  ['window', PER_WINDOW],
  ['windowms', PER_WINDOW],
  ['duration', PER_WINDOW],
  ['reservoirrefreshinterval', PER_WINDOW],
  ['reservoirrefreshamount', LIMIT_WITHOUT_WINDOW],
  [
    'headroom',
    (value) =>
      isNumber(value) && value >= 0 && value < 1
        ? `headroom is what is left to others; write utilization: ${Math.round((1 - value) * 1e6) / 1e6}`
        : 'headroom is what is left to others; write utilization, the share that is used, (0, 1]',
  ],
  ['concurrency', sameAs('maxConcurrent')],
  ['maxconcurrency', sameAs('maxConcurrent')],
  ['maxinflight', sameAs('maxConcurrent')],
  ['mintime', sameAs('minInterval')],
  ['spacing', sameAs('minInterval')],
  ['highwater', sameAs('maxQueueDepth')],
  ['maxqueue', sameAs('maxQueueDepth')],
  ['maxqueuesize', sameAs('maxQueueDepth')],
  ['queuesize', sameAs('maxQueueDepth')],
  ['timeout', say('how long a call may wait is maxWait, how long it may run is maxRun')],
  ['weight', sameAs('defaultCost')],
  ['cost', sameAs('defaultCost')],
  ['bucketsize', sameAs('burst')],
  ['capacity', sameAs('burst')],
  ['instances', sameAs('workers')],
  ['processes', sameAs('workers')],
  ['replicas', sameAs('workers')],
  ['alerts', say('alerts stand at the top of the policy, beside downstreams')],
  ['mute', say('write it in each downstream that is to be muted, or in defaults: mute: { until, reason }')],
  ['retries', say('Penstock repeats nothing: retry through callDownstream, so that each attempt takes a permit')],
  ['retry', say('Penstock repeats nothing: retry through callDownstream, so that each attempt takes a permit')],
  ['maxretries', say('Penstock repeats nothing: retry through callDownstream, so that each attempt takes a permit')],
]);

function perWindow(window: string, shorts: readonly string[]): [string, Translate][] {
  const things = ['permits', 'requests', 'calls', 'rate', 'ratelimit', 'max', 'maxrequests', 'limit'];
  return shorts.flatMap((short) => [
    ...things.map((thing): [string, Translate] => [`${thing}per${short}`, quotaPer(window)]),
    [`tokensper${short}`, quotaPer(window, ' tokens')] as [string, Translate],
  ]);
}

/** A limit in one option and its window in another, as most limiters take them. */
function pairOf(options: Options): string | undefined {
  let limit: number | undefined;
  let windowMs: number | undefined;
  for (const [key, value] of Object.entries(options)) {
    if (!isNumber(value) || value < 1) continue;
    const translate = FOREIGN.get(fold(key));
    if (translate === LIMIT_WITHOUT_WINDOW) limit ??= value;
    if (translate === PER_WINDOW) windowMs ??= value;
  }
  if (limit === undefined || windowMs === undefined) return undefined;
  return `write quota: "${quotaText(limit, REQUESTS, windowMs)}"`;
}

/**
 * What an option of another limiter is called here, with its value carried over where it can be;
 * `options` is the object in which it stands.
 */
export function translateForeign(key: string, options: Options): string | undefined {
  const translate = FOREIGN.get(fold(key));
  if (translate === undefined) return undefined;
  const pair = translate === LIMIT_WITHOUT_WINDOW || translate === PER_WINDOW ? pairOf(options) : undefined;
  return pair ?? translate(options[key]);
}
