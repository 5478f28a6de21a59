import type { DownstreamPlan } from '../base/plan.ts';
import { WINDOW_WORDS } from '../base/quota-text.ts';
import { REQUESTS } from '../base/words.ts';
import { noteOf } from './fields.ts';
import type { DownstreamPolicyInput } from './input.ts';
import type { ReadPolicy } from './load.ts';
import { type Origin, originAt } from './overlay.ts';
import { isObject, type Path, pathText, valueAt } from './paths.ts';
import { groundOf } from './profile.ts';
import { downstreamSchema, policySchema } from './schema.ts';
import { bare, keysOf, schemaAt } from './shape.ts';

/** Who has said a value. */
export type ValueOrigin =
  | ({ readonly kind: 'file'; readonly inDefaults: boolean } & Origin)
  | { readonly kind: 'environment'; readonly variable: string }
  | { readonly kind: 'profile'; readonly profile: string }
  | { readonly kind: 'default' };

/** One value of a policy as it is in force; undefined where an option is left out and has no default. */
export interface OriginatedValue {
  /** `maxWait`, `cooldown.max`, `quota[1]`. */
  readonly path: string;
  readonly value: unknown;
  readonly origin: ValueOrigin;
}

const DEFAULT: ValueOrigin = { kind: 'default' };

/** Every value of every downstream, in the order of the options table; under `''` what stands at the top. */
export function originsOf(read: ReadPolicy): Map<string, OriginatedValue[]> {
  const found = new Map<string, OriginatedValue[]>();
  const top = keysOf(policySchema).filter((key) => !['$schema', 'defaults', 'downstreams'].includes(key));
  const written = top.filter((key) => valueAt(read.policy, [key]) !== undefined);
  if (written.length > 0)
    found.set(
      '',
      written.flatMap((key) => leaves(read, [key], key)),
    );
  for (const plan of read.plan.downstreams.values()) found.set(plan.name, valuesOf(read, plan));
  return found;
}

function valuesOf(read: ReadPolicy, plan: DownstreamPlan): OriginatedValue[] {
  const own: Path = ['downstreams', plan.name];
  return Object.keys(downstreamSchema.shape).flatMap((option) => {
    const inside = partsOf(option, plan);
    if (inside.length === 0) return rowsOf(read, plan, own, [option]);
    return inside.flatMap((part) => rowsOf(read, plan, own, [option, part]));
  });
}

/** Options in parts are merged part by part, with the defaults too. */
function partsOf(option: string, plan: DownstreamPlan): string[] {
  if (option === 'defaultCost') return Object.keys(plan.defaultCost);
  return option === 'cooldown' || option === 'warm' ? keysOf(schemaAt(downstreamSchema, [option])) : [];
}

function rowsOf(read: ReadPolicy, plan: DownstreamPlan, own: Path, inside: Path): OriginatedValue[] {
  const text = pathText(inside);
  for (const base of layersOf(read, plan, own)) {
    const found = base === PROFILE ? profileRows(read, own, inside, text) : writtenRows(read, base, inside, text);
    if (found !== undefined) return found;
  }
  return [{ path: text, value: standard(plan, inside), origin: DEFAULT }];
}

/** Stands for the profile among the places where a value may have been written. */
const PROFILE: unique symbol = Symbol('profile');

/** Where a value may come from, the strongest first. */
function layersOf(read: ReadPolicy, plan: DownstreamPlan, own: Path): (Path | typeof PROFILE)[] {
  if (plan.profile === undefined) return [own, ['defaults']];
  const isOwn = valueAt(read.policy, [...own, 'profile']) !== undefined;
  return isOwn ? [own, PROFILE, ['defaults']] : [own, ['defaults'], PROFILE];
}

function writtenRows(read: ReadPolicy, base: Path, inside: Path, text: string): OriginatedValue[] | undefined {
  const path = [...base, ...inside];
  if (valueAt(read.policy, path) !== undefined) return leaves(read, path, text);
  // A bare number is a cost in requests.
  const [option, part] = inside;
  const whole = valueAt(read.policy, [...base, option!]);
  return part === REQUESTS && typeof whole === 'number' ? leaves(read, [...base, option!], text) : undefined;
}

/** Of the profile only what the options that beat it have left. */
function profileRows(read: ReadPolicy, own: Path, inside: Path, text: string): OriginatedValue[] | undefined {
  const [options, defaults] = [own, ['defaults']].map(
    (path) => (valueAt(read.policy, path) ?? {}) as DownstreamPolicyInput,
  );
  const ground = groundOf(options!, defaults!).profile;
  const value = valueAt(ground?.options, inside);
  if (ground === undefined || value === undefined) return undefined;
  const profile = ground.name;
  return partsIn(value, text).map(({ path, value: one }) => ({
    path,
    value: one,
    origin: { kind: 'profile', profile },
  }));
}

/** A value, or those inside it, each with its own origin: an overlay may have changed one of them. */
function leaves(read: ReadPolicy, path: Path, text: string): OriginatedValue[] {
  return partsIn(valueAt(read.policy, path), text).map(({ inside, ...part }) => ({
    ...part,
    origin: originOf(read, [...path, ...inside]),
  }));
}

/** A value, or those inside it, with the way to each. */
function partsIn(value: unknown, text: string): { path: string; value: unknown; inside: Path }[] {
  const keys = isObject(value) ? Object.keys(value) : isListOfParts(value) ? value.map((_one, at) => at) : undefined;
  if (keys === undefined) return [{ path: text, value, inside: [] }];
  return keys.flatMap((key) => {
    const name = typeof key === 'number' ? `${text}[${key}]` : `${text}.${key}`;
    const parts = partsIn((value as Record<PropertyKey, unknown>)[key], name);
    return parts.map((part) => ({ ...part, inside: [key, ...part.inside] }));
  });
}

function isListOfParts(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.some((one) => typeof one !== 'number');
}

function originOf({ origins, sources }: ReadPolicy, path: Path): ValueOrigin {
  for (let length = path.length; length > 0; length--) {
    const text = pathText(path.slice(0, length));
    const variable = sources.get(text);
    if (variable !== undefined) return { kind: 'environment', variable };
    const origin = origins.get(text);
    if (origin !== undefined) return { kind: 'file', ...origin, inDefaults: path[0] === 'defaults' };
  }
  const around = originAt(pathText(path), origins);
  return around === undefined ? DEFAULT : { kind: 'file', ...around, inDefaults: path[0] === 'defaults' };
}

/** What is in force where nobody has said anything: what the plan makes of it, else what the options table says. */
function standard(plan: DownstreamPlan, inside: Path): unknown {
  const [option] = inside;
  if (option === 'burst') {
    const counted = plan.quotas.filter(({ unit }) => unit === REQUESTS);
    return counted.toSorted((a, b) => a.windowMs - b.windowMs)[0]?.burst;
  }
  const planned = valueAt(plan, inside);
  if (planned !== undefined && option !== 'quota') return planned;
  const ms = valueAt(plan, [...inside.slice(0, -1), `${String(inside.at(-1))}Ms`]);
  if (typeof ms === 'number') return wordsOf(ms);
  const schema = schemaAt(downstreamSchema, inside);
  const plain = schema === undefined ? undefined : noteOf(bare(schema))?.default;
  return plain !== undefined && /^[\w.-]+$/.test(plain) && plain !== 'none' && plain !== 'omitted' ? plain : undefined;
}

function wordsOf(ms: number): string {
  if (!Number.isFinite(ms)) return 'never';
  const unit = WINDOW_WORDS.find(([, , unitMs]) => ms >= unitMs && ms % unitMs === 0);
  return unit === undefined ? `${ms}ms` : `${ms / unit[2]}${unit[1]}`;
}
