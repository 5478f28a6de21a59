import { PolicyError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { show } from '../../base/text.ts';
import { type BottleneckPolicy, type Carried, Found, type NotCarried } from './found.ts';
import { isLimiter } from './handed-in.ts';
import { readPace, readReservoir } from './rates.ts';
import { readJob, readOthers, readQueue } from './rest.ts';
import { type Settings, settingsOf } from './settings.ts';

/** A policy from a limiter, and what has become of each of its settings. */
export interface FromBottleneck {
  /** Options of one downstream: `{ downstreams: { carrier: policy } }`. */
  readonly policy: BottleneckPolicy;
  readonly carried: readonly Carried[];
  readonly notCarried: readonly NotCarried[];
}

const OPTIONS: readonly string[] = [
  'maxConcurrent',
  'minTime',
  'highWater',
  'strategy',
  'penalty',
  'reservoir',
  'reservoirRefreshInterval',
  'reservoirRefreshAmount',
  'reservoirIncreaseInterval',
  'reservoirIncreaseAmount',
  'reservoirIncreaseMaximum',
  'id',
  'rejectOnDrop',
  'trackDoneStatus',
  'Promise',
  'datastore',
  'connection',
  'clientOptions',
  'clusterNodes',
  'Redis',
  'clearDatastore',
  'timeout',
  'heartbeatInterval',
  'clientTimeout',
  'expiration',
  'priority',
  'weight',
];

/**
 * The policy that stands for a Bottleneck limiter: for its constructor's options (those of its jobs beside them:
 * `expiration`, `priority`, `weight`), or for a limiter that there is. Whatever is set to
 * more than Bottleneck's default is in one of the two lists.
 *
 * @throws {PolicyError} with every setting that Bottleneck could not have meant.
 * @example
 * const { policy, notCarried } = policyFromBottleneck({ maxConcurrent: 5, minTime: 200, highWater: 50, strategy: 2 });
 * // policy: { maxConcurrent: 5, minInterval: 200, maxQueueDepth: 50 }, notCarried: []
 */
export function policyFromBottleneck(settings: object): FromBottleneck {
  const found = new Found(readSettings(settings));
  for (const option of Object.keys(found.settings)) {
    if (OPTIONS.includes(option) || !found.isSet(option)) continue;
    const near = nearest(option, OPTIONS);
    if (near !== undefined) {
      found.problems.push({
        path: option,
        message: `Bottleneck has no such option; did you mean ${near}?`,
        nearest: near,
      });
    } else found.leave(option, 'Bottleneck has no such option', 'nothing', true);
  }
  readPace(found);
  readReservoir(found);
  readQueue(found);
  readJob(found);
  readOthers(found);
  found.done();
  const { policy, carried, notCarried } = found;
  return { policy, carried, notCarried };
}

function readSettings(given: unknown): Settings {
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  const settings = isLimiter(given) ? settingsOf(given) : isObject ? (given as Settings) : undefined;
  if (settings !== undefined) return settings;
  const message = isObject
    ? 'this limiter does not tell its settings; pass the options that it was made with'
    : `expected the options of a Bottleneck limiter, or a limiter, found ${show(given)}`;
  throw new PolicyError([{ path: 'settings', message }], 'policyFromBottleneck');
}
