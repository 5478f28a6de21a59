import { systemClock } from '../base/clock.ts';
import { PolicyError, type PolicyProblem } from '../base/errors.ts';
import type { DownstreamPlan, PolicyPlan, SinkPlan } from '../base/plan.ts';
import { MODES, type Mode } from '../base/words.ts';
import { planAlerts } from './alerts.ts';
import { knownOf } from './alerts-filter.ts';
import { planDownstream } from './downstream.ts';
import { type Draft, draftOf } from './draft.ts';
import { applyEnvironment, type Environment, withSource } from './environment.ts';
import { translateForeign } from './foreign.ts';
import { policyHash } from './hash.ts';
import type { DownstreamPolicyInput } from './input.ts';
import { downstreamPlace, findTwins, nameProblem } from './names.ts';
import { deepFreeze, foundText, frozenMap, isObject } from './paths.ts';
import { downstreamSchema, policySchema } from './schema.ts';
import { checkShape, keysOf } from './shape.ts';

/**
 * Checks a policy and fills in every default. The caller's object is not changed; the plan is
 * deep-frozen. `env` holds overrides such as `PENSTOCK__CARRIER__MAX_WAIT=20s`; `where` names the
 * policy in errors (a file, say); `now` (epoch milliseconds, default the machine's) bounds mutes.
 *
 * @throws {PolicyError} with every problem at once.
 */
export function resolvePolicy(
  input: unknown,
  options?: {
    readonly env?: Environment | undefined;
    readonly where?: string | undefined;
    readonly now?: number | undefined;
  },
): PolicyPlan {
  const where = options?.where ?? 'policy';
  const now = options?.now ?? systemClock.wallNow();
  const { policy, problems, sources } = applyEnvironment(input, options?.env);
  const { downstreams, defaults, found } = checkTop(policy);
  problems.push(...found);
  const plans = new Map<string, DownstreamPlan>();
  for (const name of Object.keys(downstreams)) {
    const drafted = draftDownstream(name, downstreams[name], defaults);
    plans.set(name, planDownstream(drafted, now));
    problems.push(...drafted.problems);
  }
  const { alerts, problems: unsound } = alertsOf(policy, plans);
  problems.push(...unsound);
  if (problems.length > 0)
    throw new PolicyError(
      problems.map((each) => withSource(each, sources)),
      where,
    );
  for (const plan of plans.values()) deepFreeze(plan);
  const hash = policyHash(plans.values());
  return Object.freeze({ downstreams: frozenMap(plans), hash, ...(alerts === undefined ? {} : { alerts }) });
}

/**
 * The plan of one downstream that is registered at run time. `defaults` are the policy's, if they
 * are to apply (`defaultsOf`).
 *
 * @throws {PolicyError} with every problem at once; paths begin with `downstreams.<name>`.
 */
export function resolveDownstream(
  name: string,
  input: unknown,
  defaults?: DownstreamPolicyInput,
  now: number = systemClock.wallNow(),
): DownstreamPlan {
  const drafted = draftDownstream(name, input, checkDefaults(defaults));
  const plan = planDownstream(drafted, now);
  const problem = nameProblem(name);
  const problems = [...(problem === undefined ? [] : [problem]), ...drafted.problems];
  if (problems.length > 0) throw new PolicyError(problems);
  return deepFreeze(plan);
}

/** The `defaults` of a policy that `resolvePolicy` has accepted, with the environment's overrides. */
export function defaultsOf(input: unknown, env?: Environment): DownstreamPolicyInput {
  const { policy } = applyEnvironment(input, env);
  if (!isObject(policy)) return {};
  const mode = isMode(policy.mode) ? { mode: policy.mode } : {};
  const defaults = isObject(policy.defaults) ? structuredClone(policy.defaults) : {};
  return deepFreeze(defaults.mode === undefined ? { ...defaults, ...mode } : defaults);
}

function isMode(value: unknown): value is Mode {
  return MODES.includes(value as Mode);
}

/** Options whose shape is right, the names of those whose is not, and what is wrong with them. */
interface Checked {
  readonly options: DownstreamPolicyInput;
  readonly broken: ReadonlySet<string>;
  readonly found: readonly PolicyProblem[];
}

interface Top {
  readonly downstreams: Readonly<Record<string, unknown>>;
  readonly defaults: Checked;
  readonly found: readonly PolicyProblem[];
}

function checkTop(policy: unknown): Top {
  const nothing = { options: {}, broken: new Set<string>(), found: [] };
  if (!isObject(policy)) {
    const message = `expected an object with downstreams; found ${foundText(policy)}`;
    return { downstreams: {}, defaults: nothing, found: [{ path: 'policy', message, found: policy }] };
  }
  const found = topProblems(policy);
  const stated = checkDefaults(policy.defaults);
  // The mode at the top is the default of the defaults.
  const options = isMode(policy.mode) ? { mode: policy.mode, ...stated.options } : stated.options;
  const defaults = { ...stated, options };
  found.push(...defaults.found);
  const downstreams = isObject(policy.downstreams) ? policy.downstreams : {};
  for (const name of Object.keys(downstreams)) {
    const problem = nameProblem(name);
    if (problem !== undefined) found.push(problem);
  }
  found.push(...findTwins(Object.keys(downstreams)));
  return { downstreams, defaults, found };
}

/** The sinks of the policy; undefined where it says nothing of them. */
function alertsOf(
  policy: unknown,
  plans: ReadonlyMap<string, DownstreamPlan>,
): { readonly alerts: readonly SinkPlan[] | undefined; readonly problems: readonly PolicyProblem[] } {
  const input = isObject(policy) ? policy.alerts : undefined;
  if (input === undefined) return { alerts: undefined, problems: [] };
  const { alerts, problems } = planAlerts(input, knownOf(plans.values()));
  return { alerts: deepFreeze(alerts), problems };
}

/** Everything of the top but what stands in `alerts`, `defaults` and `downstreams`. */
function topProblems(policy: Readonly<Record<string, unknown>>): PolicyProblem[] {
  const { defaults: _defaults, downstreams, alerts: _alerts, ...rest } = policy;
  const shallow = isObject(downstreams) ? { ...rest, downstreams: {} } : { ...rest, downstreams };
  const located = checkShape(policySchema, shallow, []);
  return located.map(({ path, problem }) => {
    const key = String(path[0]);
    const isUnknown = path.length === 1 && !keysOf(policySchema).includes(key);
    const isMisplaced = isUnknown && isObject(policy[key]) && translateForeign(key, policy) === undefined;
    return isMisplaced && problem.nearest === undefined
      ? { ...problem, message: `unknown option; if ${key} is a downstream, write it below downstreams:` }
      : problem;
  });
}

function checkDefaults(defaults: unknown): Checked {
  if (defaults === undefined) return { options: {}, broken: new Set(), found: [] };
  return checkOptions(defaults, ['defaults']);
}

function checkOptions(input: unknown, base: readonly PropertyKey[]): Checked {
  const located = checkShape(downstreamSchema, input, base);
  const found = located.map(({ problem }) => problem);
  if (!isObject(input)) return { options: {}, broken: new Set(keysOf(downstreamSchema)), found };
  const broken = new Set(located.map(({ path }) => String(path[base.length])));
  const sound = Object.entries(input).filter(([key, value]) => !broken.has(key) && value !== undefined);
  return { options: Object.fromEntries(sound) as DownstreamPolicyInput, broken, found };
}

function draftDownstream(name: string, input: unknown, defaults: Checked): Draft {
  const own = checkOptions(input, downstreamPlace(name));
  const broken = new Set([...own.broken, ...defaults.broken]);
  return draftOf(name, own.options, defaults.options, broken, own.found);
}
