import { formatDuration } from '../../base/duration.ts';
import { type BottleneckPolicy, type Found, LONGEST_MS } from './found.ts';

type Quota = NonNullable<BottleneckPolicy['quota']>;

const STRATEGIES: Readonly<Record<number, string>> = { 1: 'LEAK', 2: 'OVERFLOW', 3: 'BLOCK', 4: 'OVERFLOW_PRIORITY' };
/** What a job has that names no priority. */
const USUAL_PRIORITY = 5;
const WORKERS =
  'workers: <how many processes there are>, each with its share; or keep the limiter: engines: { <downstream>: bottleneckEngine(limiter) }';

/** `highWater` and what happens there. */
export function readQueue(found: Found): void {
  const depth = found.number('highWater');
  const strategy = strategyOf(found);
  if (found.isSet('penalty')) {
    found.number('penalty');
    const isBlock = strategy === 'BLOCK';
    const why = isBlock
      ? 'no queue is emptied and shut for a time because it was full once'
      : 'read only with strategy BLOCK';
    found.leave('penalty', why, isBlock ? 'dispatcher.pause(...) where you want that' : 'nothing');
  }
  if (depth === undefined || depth > Number.MAX_SAFE_INTEGER) {
    if (depth !== undefined) found.carry('highWater', 'no limit: the option is left out');
    if (found.settings.strategy !== undefined && strategy !== 'LEAK') {
      found.leave('strategy', 'read only where highWater is set', 'nothing');
    }
    return;
  }
  found.policy.maxQueueDepth = Math.floor(depth);
  found.carry('highWater', `maxQueueDepth: ${Math.floor(depth)}; refused calls get RATE_LIMIT_QUEUE_FULL`);
  if (strategy === 'OVERFLOW') {
    found.carry('strategy', 'OVERFLOW: the newcomer is refused, unless it takes the place of one of a lower class');
  } else if (strategy === 'OVERFLOW_PRIORITY') {
    found.carry(
      'strategy',
      'OVERFLOW_PRIORITY: a newcomer takes the place of one of a lower class, of the newest there rather than the oldest; else it is refused',
    );
  } else if (strategy === 'LEAK') {
    found.leave(
      'strategy',
      'LEAK throws out the oldest waiter, which has waited longest and is next; Penstock refuses the newcomer',
      'give calls a deadline or maxWait: what is too old leaves by itself',
    );
  } else if (strategy === 'BLOCK') {
    found.leave(
      'strategy',
      'BLOCK empties the whole queue once it is full, and takes nothing until penalty is over',
      'maxQueueDepth refuses what is too much and keeps the others; dispatcher.pause(...) holds a lane',
    );
  }
}

function strategyOf(found: Found): string | undefined {
  const { strategy } = found.settings;
  if (strategy === undefined || strategy === null) return 'LEAK';
  const name = typeof strategy === 'number' && Object.hasOwn(STRATEGIES, strategy) ? STRATEGIES[strategy] : undefined;
  if (name === undefined) {
    found.fail('strategy', 'Bottleneck.strategy.LEAK (1), OVERFLOW (2), BLOCK (3) or OVERFLOW_PRIORITY (4)');
  }
  return name;
}

/** Options of jobs, where they are given beside those of the limiter. */
export function readJob(found: Found): void {
  const { policy } = found;
  const expiration = found.number('expiration');
  if (expiration !== undefined && expiration > 0 && expiration <= LONGEST_MS) {
    policy.maxRun = expiration;
    found.carry(
      'expiration',
      `maxRun: ${expiration}, from the start of the call. It is told by call.signal, and keeps its place for leaseGrace unless it stops; for a limit that counts from its arrival give calls a deadline`,
    );
  } else if (expiration === Number.POSITIVE_INFINITY) {
    found.carry('expiration', 'no limit: the option is left out');
  } else if (expiration !== undefined) {
    found.fail('expiration', 'a number of milliseconds, more than 0, up to 366 days');
  }
  const priority = found.number('priority', Number.NEGATIVE_INFINITY);
  if (priority !== undefined && !Number.isInteger(priority)) {
    found.leave('priority', 'Bottleneck takes a fraction for 5', 'nothing');
  } else if (priority !== undefined && priority !== USUAL_PRIORITY) {
    const own = priority < USUAL_PRIORITY ? 'interactive' : 'batch';
    policy.priority = own;
    found.carry('priority', `priority: ${own}; there are three classes (0 to 4 interactive, 5 normal, 6 to 9 batch)`);
  }
  readWeight(found);
}

function readWeight(found: Found): void {
  const { policy } = found;
  const weight = found.number('weight');
  if (weight === undefined || weight === 1) return;
  if (!Number.isSafeInteger(weight) || weight < 1) {
    found.leave('weight', 'a call takes at least one whole permit', 'cost: 0 in the context of a call that takes none');
    return;
  }
  const { quota, maxConcurrent } = policy;
  if (quota === undefined && maxConcurrent === undefined) {
    found.leave('weight', 'there is no limit of which it would take more', 'the cost in the context of a call');
    return;
  }
  const most = Math.min(maxConcurrent ?? Number.POSITIVE_INFINITY, quota?.burst ?? quota?.limit ?? weight);
  if (weight > most) {
    found.leave(
      'weight',
      `more than the ${most} that the limiter ever lets pass: no such job can have run`,
      'a smaller cost in the context of a call',
    );
    return;
  }
  const parts: string[] = [];
  if (quota !== undefined) {
    const own = inCalls(quota, weight);
    policy.quota = own;
    parts.push(`quota: ${own.limit} per ${formatDuration(own.per)}, counted in calls of this weight, each at cost 1`);
  }
  if (maxConcurrent !== undefined) {
    policy.maxConcurrent = Math.floor(maxConcurrent / weight);
    parts.push(`maxConcurrent: ${policy.maxConcurrent}, since each call takes one place`);
  }
  found.carry('weight', parts.join('; '));
}

/** How many calls of one weight a quota admits: never more than the limiter did, which keeps what is too little for one. */
function inCalls(quota: Quota, weight: number): Quota {
  const { limit, per, burst } = quota;
  if (burst === undefined) return { limit: Math.floor(limit / weight), per };
  const size = Math.floor(burst / weight);
  const bucket = { burst: size, providerBurst: size };
  return limit / weight <= size && per * weight <= LONGEST_MS
    ? { limit, per: per * weight, ...bucket }
    : { limit: size, per, ...bucket };
}

const OF_REDIS: Readonly<Record<string, string>> = {
  connection: 'the connection that shares the limiter among processes',
  clientOptions: 'how Redis is reached',
  clusterNodes: 'how Redis is reached',
  Redis: 'how Redis is reached',
  clearDatastore: 'there is no state outside of the process to be cleared',
  clientTimeout: 'there is no state outside of the process that could go stale',
};

/** What has nothing to do with limits. */
export function readOthers(found: Found): void {
  const { settings } = found;
  const { datastore, id } = settings;
  if (found.isSet('datastore') && typeof datastore !== 'string') found.fail('datastore', 'local, redis or ioredis');
  const isShared = found.isSet('connection') || (found.isSet('datastore') && datastore !== 'local');
  if (found.isSet('datastore') && datastore !== 'local') {
    found.leave('datastore', 'a lane counts in its own process', WORKERS);
  }
  for (const [option, what] of Object.entries(OF_REDIS)) {
    const isDefault = settings[option] === false || isEmpty(settings[option]);
    if (found.isSet(option) && !isDefault) found.leave(option, what, WORKERS, true);
  }
  if (found.isSet('timeout')) {
    const why = isShared ? 'no state is left in Redis that could expire' : 'read only with Redis, or in a Group';
    found.leave('timeout', why, isShared ? WORKERS : 'nothing: lanes of idle accounts are forgotten by themselves');
  }
  if (found.isSet('heartbeatInterval') && settings.heartbeatInterval !== (isShared ? 5_000 : 250)) {
    found.leave('heartbeatInterval', 'a lane is filled by the clock, not by a timer', 'nothing');
  }
  if (found.isSet('id') && id !== '<no-id>') {
    found.leave('id', 'a lane goes by the name of its downstream', 'that name in the policy');
  }
  if (found.boolean('trackDoneStatus') === true) {
    found.leave(
      'trackDoneStatus',
      'calls are not kept once they are over',
      "snapshot().downstreams[].totals, or the event 'settled'",
    );
  }
  if (found.boolean('rejectOnDrop') === false) {
    found.leave('rejectOnDrop', 'a caller always gets an answer', 'catch the AdmissionError, and do nothing');
  } else if (found.isSet('rejectOnDrop')) {
    found.carry('rejectOnDrop', 'every refused call rejects, with an AdmissionError');
  }
  if (found.isSet('Promise') && settings.Promise !== Promise) {
    found.leave('Promise', "the platform's promises are used", 'wrap what comes back');
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
