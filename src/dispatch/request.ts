import { InvalidCall } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import { show } from '../base/text.ts';
import { type Cost, PRIORITIES, type Priority, REQUESTS } from '../base/words.ts';
import type { Costs } from '../model/bucket.ts';
import type { CallContext } from './context.ts';

/** Deadlines before 2001 are durations that somebody forgot to add to the present. */
const YEAR_2001_MS = 978_307_200_000;
const NO_PATH: readonly string[] = [];
const NO_SIGNALS: readonly AbortSignal[] = [];

/** A context that was checked and resolved: what a lane needs to know of a call. Instants are monotonic milliseconds. */
export interface Request {
  readonly priority: Priority;
  /** Order of service: index into `PRIORITIES`; a nested call stands before all of them. */
  readonly rank: number;
  readonly path: readonly string[];
  /** As the caller gave it, for the day the quotas change while it waits. */
  readonly cost: Cost | undefined;
  readonly costs: Costs;
  readonly signals: readonly AbortSignal[];
  readonly tool: string | undefined;
  readonly runId: string | undefined;
  readonly isIdempotent: boolean;
  readonly onWait: CallContext['onWait'];
  /** Infinity without a deadline; moves nearer when the wall clock steps forward. */
  deadlineAt: number;
  readonly deadlineWall: number;
  readonly maxWaitAt: number;
  /** A nested call runs in its outer call's place. */
  readonly needsPlace: boolean;
}

/** The instant after which a start is useless: the earlier of deadline and `maxWait`. */
export function limitOf(request: Request): number {
  return Math.min(request.deadlineAt, request.maxWaitAt);
}

/** The request of a call that says nothing. */
export function plainRequest(plan: DownstreamPlan, now: number): Request {
  return {
    priority: plan.priority,
    rank: PRIORITIES.indexOf(plan.priority),
    path: NO_PATH,
    cost: undefined,
    costs: costsOf(plan, undefined),
    signals: NO_SIGNALS,
    tool: undefined,
    runId: undefined,
    isIdempotent: plan.idempotent,
    onWait: undefined,
    deadlineAt: Number.POSITIVE_INFINITY,
    deadlineWall: Number.POSITIVE_INFINITY,
    maxWaitAt: plan.maxWaitMs === undefined ? Number.POSITIVE_INFINITY : now + plan.maxWaitMs,
    needsPlace: true,
  };
}

/**
 * Checks a context; throws `InvalidCall` that names the field, what was found and what was expected.
 * `wallNow` is needed only where the context has a deadline; `defaults`: what a call takes that names no cost.
 */
export function readRequest(
  plan: DownstreamPlan,
  context: CallContext,
  extra: readonly AbortSignal[],
  now: number,
  wallNow: number,
  defaults = costsOf(plan, undefined),
): Request {
  const { priority = plan.priority, cost, signal, tool, runId, idempotent, onWait, deadline } = context;
  const fail: Fail = (field, found, expected) => refuseField(plan, context, field, found, expected);
  for (const key in context) if (!FIELDS.has(key)) checkKey(key, fail);
  const rank = PRIORITIES.indexOf(priority);
  if (rank < 0) fail('priority', priority, `one of ${PRIORITIES.join(', ')}`);
  if (tool !== undefined && typeof tool !== 'string') fail('tool', tool, 'a text');
  if (runId !== undefined && typeof runId !== 'string') fail('runId', runId, 'a text');
  if (onWait !== undefined && typeof onWait !== 'function') fail('onWait', onWait, 'a function');
  if (idempotent !== undefined && typeof idempotent !== 'boolean') fail('idempotent', idempotent, 'true or false');
  if (signal !== undefined && !isSignal(signal)) fail('signal', signal, 'an AbortSignal');
  const deadlineWall = deadline === undefined ? Number.POSITIVE_INFINITY : readDeadline(deadline, fail);
  return {
    priority,
    rank,
    path: runId === undefined ? NO_PATH : pathOf(runId),
    cost,
    costs: cost === undefined ? defaults : costsOf(plan, cost, fail),
    signals: signal === undefined ? extra : extra.length === 0 ? [signal] : [signal, ...extra],
    tool,
    runId,
    isIdempotent: idempotent ?? plan.idempotent,
    onWait,
    deadlineWall,
    deadlineAt: deadline === undefined ? Number.POSITIVE_INFINITY : now + (deadlineWall - wallNow),
    maxWaitAt: plan.maxWaitMs === undefined ? Number.POSITIVE_INFINITY : now + plan.maxWaitMs,
    needsPlace: true,
  };
}

type Fail = (field: string, found: unknown, expected: string) => never;

const FIELDS: ReadonlySet<string> = new Set([
  'deadline',
  'signal',
  'priority',
  'cost',
  'account',
  'tool',
  'runId',
  'idempotent',
  'onWait',
]);
/** What others call a deadline. */
const DURATIONS: ReadonlySet<string> = new Set(['timeout', 'timeoutMs', 'deadlineMs', 'ttl', 'expiration', 'maxWait']);

/** A richer context is fine; a field that was probably meant to be one of ours is not. */
function checkKey(key: string, fail: Fail): void {
  if (DURATIONS.has(key)) fail(key, 'a field that is not read', 'deadline: Date.now() + ... (an instant)');
  const near = nearest(key, FIELDS);
  if (near !== undefined) fail(key, 'a field that is not read', near);
}

/** Turns are taken at so many levels; what lies below shares the last. */
const MOST_LEVELS = 3;

function pathOf(runId: string): readonly string[] {
  const path = runId.split('/');
  if (path.length <= MOST_LEVELS) return path;
  return [...path.slice(0, MOST_LEVELS - 1), path.slice(MOST_LEVELS - 1).join('/')];
}

function refuseField(
  plan: DownstreamPlan,
  { tool, runId }: CallContext,
  field: string,
  found: unknown,
  expected: string,
): never {
  throw new InvalidCall(`${plan.name}: ctx.${field}: expected ${expected}, found ${show(found)}`, {
    downstream: plan.name,
    tool: typeof tool === 'string' ? tool : undefined,
    runId: typeof runId === 'string' ? runId : undefined,
  });
}

/** What `AbortSignal`s of every realm and polyfill have. */
function isSignal(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { aborted, addEventListener } = value as Partial<AbortSignal>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
}

function readDeadline(deadline: unknown, fail: Fail): number {
  const at = deadline instanceof Date ? deadline.getTime() : deadline;
  if (typeof at !== 'number' || Number.isNaN(at)) fail('deadline', deadline, 'epoch milliseconds or a valid Date');
  if (at < YEAR_2001_MS) fail('deadline', deadline, 'epoch milliseconds (a duration? use Date.now() + ...)');
  return at;
}

/** Permits per bucket of a cost; units that it does not name take the policy's default. */
export function costsOf(plan: DownstreamPlan, cost: Cost | undefined, fail?: Fail): Costs {
  const named: Readonly<Record<string, number>> =
    cost === undefined ? {} : typeof cost === 'number' ? { [REQUESTS]: cost } : cost;
  if (fail !== undefined) checkCost(plan, cost, named, fail);
  return plan.quotas.map(({ unit }) => {
    const permits = Object.hasOwn(named, unit) ? named[unit] : undefined;
    return permits ?? plan.defaultCost[unit] ?? (unit === REQUESTS ? 1 : missing(unit, fail));
  });
}

/** The permits that a cost names, per unit; throws `InvalidCall`. `field` is what the message calls it. */
export function readCost(plan: DownstreamPlan, cost: Cost, field: string): ReadonlyMap<string, number> {
  const named = typeof cost === 'number' ? { [REQUESTS]: cost } : cost;
  checkCost(plan, cost, named, (path, found, expected) => {
    const message = `${plan.name}: ${path.replace('cost', field)}: expected ${expected}, found ${show(found)}`;
    throw new InvalidCall(message, { downstream: plan.name });
  });
  return new Map(Object.entries(named));
}

/** Lists and Maps have no units to read. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function missing(unit: string, fail: Fail | undefined): number {
  return fail === undefined
    ? 0
    : fail(`cost.${unit}`, undefined, `a whole number of ${unit} (this downstream declares a quota in ${unit})`);
}

function checkCost(plan: DownstreamPlan, cost: unknown, named: Readonly<Record<string, number>>, fail: Fail): void {
  if (typeof cost !== 'number' && !isPlain(cost)) {
    fail('cost', cost, 'a whole number of requests, or whole numbers per unit such as { tokens: 1200 }');
  }
  const units = new Set([REQUESTS, ...plan.quotas.map((quota) => quota.unit)]);
  for (const [unit, permits] of Object.entries(named)) {
    if (permits === undefined) continue;
    const field = typeof cost === 'number' ? 'cost' : `cost.${unit}`;
    if (!Number.isSafeInteger(permits) || permits < 0) fail(field, permits, 'a whole number, 0 or more');
    // Where only requests are counted, another unit is a dimension that nobody declared: unlimited.
    if (!units.has(unit) && units.size > 1)
      fail(field, permits, `one of the declared units (${[...units].join(', ')})`);
  }
}
