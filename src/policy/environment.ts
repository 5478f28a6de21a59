import type { PolicyProblem } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { MODES, type Mode } from '../base/words.ts';
import { noteOf } from './fields.ts';
import { optionPart, PREFIX, variablePart } from './names.ts';
import { foundText, isObject, type Path, pathText, withKey } from './paths.ts';
import { readQuota } from './quota.ts';
import { downstreamSchema, MODE_WORDS } from './schema.ts';
import { keysOf, schemaAt } from './shape.ts';

/** Variables by name, as `process.env` holds them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A policy with the environment's overrides in place. */
export interface Overridden {
  readonly policy: unknown;
  readonly problems: PolicyProblem[];
  /** Which variable set the option at a path. */
  readonly sources: ReadonlyMap<string, string>;
}

interface Target {
  readonly path: Path;
  readonly value: string | number | boolean;
}

/** Copies the policy with every `PENSTOCK__...` variable applied; the original is not changed. */
export function applyEnvironment(policy: unknown, env: Environment | undefined): Overridden {
  const problems: PolicyProblem[] = [];
  const sources = new Map<string, string>();
  const variables = Object.entries(env ?? {}).filter(([name, value]) => value !== undefined && name.startsWith(PREFIX));
  const mode = readMode(env);
  if (typeof mode === 'object') problems.push(mode);
  if ((variables.length === 0 && mode === undefined) || !isObject(policy)) return { policy, problems, sources };
  const owners = ownersOf(policy);
  let changed: unknown = typeof mode === 'string' ? withMode(policy, mode, sources) : policy;
  for (const [variable, value] of variables.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const read = readVariable(variable, value ?? '', owners);
    if ('message' in read) problems.push({ path: variable, ...read });
    else {
      changed = setAt(changed, read.path, read.value);
      sources.set(pathText(read.path), variable);
    }
  }
  return { policy: changed, problems, sources };
}

/** The mode of all downstreams, whatever the policy says of each. */
export const MODE_VARIABLE = 'PENSTOCK_MODE';

/** What `PENSTOCK_MODE` says; undefined where it is not set, or says what is no mode. */
export function modeOfAll(env: Environment | undefined): Mode | undefined {
  const mode = readMode(env);
  return typeof mode === 'string' ? mode : undefined;
}

function readMode(env: Environment | undefined): Mode | PolicyProblem | undefined {
  const text = env?.[MODE_VARIABLE];
  // Set to nothing is how many a shell and manifest unsets a variable.
  if (text === undefined || text.trim() === '') return undefined;
  const mode = MODES.find((each) => each === text.trim());
  if (mode !== undefined) return mode;
  const near = nearest(text.trim(), MODES);
  return {
    path: MODE_VARIABLE,
    message: `expected ${MODE_WORDS}; found ${foundText(text)}${near === undefined ? '' : `; did you mean ${near}?`}`,
    found: text,
    expected: MODE_WORDS,
    ...(near === undefined ? {} : { nearest: near }),
  };
}

/** The operator's word stands in the place of every mode that the policy gives. */
function withMode(policy: Readonly<Record<string, unknown>>, mode: Mode, sources: Map<string, string>): unknown {
  const { downstreams } = policy;
  const names = isObject(downstreams) ? Object.keys(downstreams).filter((name) => isObject(downstreams[name])) : [];
  const paths: Path[] = [['mode'], ...names.map((name) => ['downstreams', name, 'mode'])];
  for (const path of paths) sources.set(pathText(path), MODE_VARIABLE);
  return paths.reduce<unknown>((changed, path) => setAt(changed, path, mode), policy);
}

/** The sections that variables may mean: `DEFAULTS`, and each downstream that is an object. */
type Owners = ReadonlyMap<string, { readonly path: Path; readonly options: Readonly<Record<string, unknown>> }>;

function ownersOf(policy: Readonly<Record<string, unknown>>): Owners {
  const { defaults, downstreams } = policy;
  const owners = new Map([['DEFAULTS', { path: ['defaults'] as Path, options: isObject(defaults) ? defaults : {} }]]);
  if (!isObject(downstreams)) return owners;
  for (const [name, options] of Object.entries(downstreams)) {
    if (isObject(options)) owners.set(variablePart(name), { path: ['downstreams', name], options });
  }
  return owners;
}

type Unread = Omit<PolicyProblem, 'path'>;

function readVariable(variable: string, text: string, owners: Owners): Target | Unread {
  const rest = variable.slice(PREFIX.length);
  // The longest name first: a name may itself hold `__`.
  for (let at = rest.lastIndexOf('__'); at > 0; at = rest.lastIndexOf('__', at - 1)) {
    const owner = owners.get(rest.slice(0, at));
    if (owner === undefined) continue;
    const inside = optionPath(rest.slice(at + 2), owner.options);
    if (Array.isArray(inside)) return readValue(text, owner.path, inside as Path);
    return inside as Unread;
  }
  const head = rest.split('__')[0] ?? '';
  // What was found is not told: it may be a secret.
  if (head === 'ALERTS') {
    return {
      message:
        'alerts cannot be set from the environment; name a variable for each secret in the policy (webhookFrom: SLACK_WEBHOOK_URL) and set that, or use another policy file',
    };
  }
  const near = nearest(head, owners.keys());
  return {
    message: `no downstream is called ${head} in the environment; ${
      near === undefined ? `known are ${knownOwners(owners)}` : `did you mean ${variable.replace(head, near)}?`
    }`,
    found: text,
    ...(near === undefined ? {} : { nearest: variable.replace(head, near) }),
  };
}

/** Enough to see how the names are spelled, however many there are. */
const MOST_SHOWN = 10;

function knownOwners(owners: Owners): string {
  const parts = [...owners.keys()].filter((part) => part !== '');
  const more = parts.length > MOST_SHOWN ? ', ...' : '';
  return `${parts.slice(0, MOST_SHOWN).join(', ')}${more}`;
}

/** The option that `COOLDOWN__MAX` means. */
function optionPath(rest: string, options: Readonly<Record<string, unknown>>): Path | Unread {
  const parts = rest.split('__');
  if (parts[0] === 'QUOTA' && parts.length > 1 && !isObject(options.quota)) {
    return { message: 'the quota is no object in the policy: override it as a whole, QUOTA=60/minute' };
  }
  const path: string[] = [];
  for (const part of parts) {
    const known = keysAt(path, options);
    const key = known.find((each) => optionPart(each) === part);
    if (key === undefined) {
      const spelled = known.map(optionPart);
      const near = nearest(part, spelled);
      const advice =
        known.length === 0
          ? `${pathText(path)} has no parts`
          : near === undefined
            ? `known are ${spelled.join(', ')}`
            : `did you mean ${near}?`;
      return {
        message: `unknown option ${part}; ${advice}`,
        ...(near === undefined ? {} : { nearest: near }),
      };
    }
    path.push(key);
  }
  return path;
}

function keysAt(path: readonly string[], options: Readonly<Record<string, unknown>>): string[] {
  if (path.length === 1 && path[0] === 'defaultCost') return unitsOf(options);
  return keysOf(schemaAt(downstreamSchema, path));
}

function unitsOf(options: Readonly<Record<string, unknown>>): string[] {
  const { quota, defaultCost } = options;
  const inputs = Array.isArray(quota) ? quota : [quota];
  const units = inputs.flatMap((input) => {
    const isReadable = typeof input === 'string' || (isObject(input) && typeof input.unit === 'string');
    if (!isReadable) return [];
    if (typeof input === 'string') return readQuota(input)?.unit ?? [];
    return String(input.unit);
  });
  return [...new Set(['requests', ...units, ...(isObject(defaultCost) ? Object.keys(defaultCost) : [])])];
}

/** The value as the option takes it: a number or a truth value where it can be one, else the text. */
function readValue(text: string, owner: Path, inside: Path): Target | Unread {
  const schema = schemaAt(downstreamSchema, inside);
  const note = schema === undefined ? undefined : noteOf(schema);
  const expected = note?.expected ?? 'a value';
  for (const value of readings(text)) {
    if (schema !== undefined && accepts(schema, value)) return { path: [...owner, ...inside], value };
  }
  const isList = schema?._zod.def.type === 'array' ? ' (a list can only be set in the policy)' : '';
  return { message: `expected ${expected}; found ${foundText(text)}${isList}`, found: text, expected };
}

function readings(text: string): (string | number | boolean)[] {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  const number = /^-?\d+(\.\d+)?$/.test(trimmed) ? [Number(trimmed)] : [];
  const truth = trimmed === 'true' || trimmed === 'false' ? [trimmed === 'true'] : [];
  return [...number, ...truth, trimmed];
}

function accepts(schema: object, value: unknown): boolean {
  return (schema as { safeParse: (value: unknown) => { success: boolean } }).safeParse(value).success;
}

/** A copy with the value at a path; what lies on the way and is no object is replaced by one. */
function setAt(root: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const holder = isObject(root) ? root : {};
  const inner = Object.hasOwn(holder, key) ? holder[String(key)] : undefined;
  return withKey(holder, String(key), setAt(inner, rest, value));
}

/** Names the variable in a problem that an override has caused. */
export function withSource(problem: PolicyProblem, sources: ReadonlyMap<string, string>): PolicyProblem {
  const variable = sources.get(problem.path);
  return variable === undefined ? problem : { ...problem, message: `${problem.message} (set by ${variable})` };
}
