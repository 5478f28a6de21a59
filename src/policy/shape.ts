import type * as z from 'zod';
import type { PolicyProblem } from '../base/errors.ts';
import { suggestHost } from '../base/hosts.ts';
import { nearest } from '../base/nearest.ts';
import { type Note, noteOf } from './fields.ts';
import { translateForeign } from './foreign.ts';
import { foundText, isObject, type Path, pathText, valueAt } from './paths.ts';
import { suggestQuota } from './quota.ts';
import { HOST_WORDS } from './values.ts';

type Schema = z.core.$ZodType;
type Issue = z.core.$ZodIssue;

/** A problem and where it stands, so that a rule can tell which options cannot be trusted. */
export interface Located {
  readonly path: Path;
  readonly problem: PolicyProblem;
}

/** Everything that is wrong with a value's shape. `base` is where the value stands in the policy. */
export function checkShape(schema: Schema & z.ZodType, value: unknown, base: Path): Located[] {
  const result = schema.safeParse(value);
  const issues = result.success ? [] : result.error.issues;
  const found = issues.flatMap((issue) => translate({ schema, root: value, base }, issue, []));
  return firstPerPath([...found, ...protoKeys(value, base)]);
}

/** One value can break a pattern and a bound at once; one complaint says it all. */
function firstPerPath(all: readonly Located[]): Located[] {
  const byPath = new Map<string, Located>();
  for (const each of all) if (!byPath.has(each.problem.path)) byPath.set(each.problem.path, each);
  return [...byPath.values()];
}

interface Place {
  readonly schema: Schema;
  readonly root: unknown;
  readonly base: Path;
}

function translate(place: Place, issue: Issue, prefix: Path): Located[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => unknownKey(place, path, key));
  }
  if (issue.code === 'invalid_union') {
    const branch = meantBranch(issue.errors);
    if (branch !== undefined) return branch.flatMap((inner) => translate(place, inner, path));
  }
  if (issue.code === 'invalid_key') {
    const message = 'expected a unit: a name that starts with a letter, such as tokens';
    return [located([...place.base, ...path], { message })];
  }
  const note = noteAt(place.schema, path);
  const value = valueAt(place.root, path);
  return [located([...place.base, ...path], leafProblem(note, value, issue))];
}

/** The alternative whose type fits: its own complaints say more than "none of these". */
function meantBranch(branches: readonly Issue[][]): Issue[] | undefined {
  const meant = branches.filter((issues) => !issues.some((issue) => issue.path.length === 0 && !isInside(issue)));
  return meant.length === 1 ? meant[0] : undefined;
}

function isInside(issue: Issue): boolean {
  return (
    issue.code === 'unrecognized_keys' || (issue.code === 'invalid_union' && meantBranch(issue.errors) !== undefined)
  );
}

function leafProblem(note: Note | undefined, value: unknown, issue: Issue): Omit<PolicyProblem, 'path'> {
  const expected = note?.expected ?? issue.message;
  const hint = hintFor(note, value);
  const near = hint ?? nearestValue(issue, value);
  return {
    message: `expected ${expected}; found ${foundText(value)}${hint === undefined ? '' : ` (${hint})`}${
      hint === undefined && near !== undefined ? `; did you mean ${near}?` : ''
    }`,
    found: value,
    expected,
    ...(hint === undefined && near !== undefined ? { nearest: near } : {}),
  };
}

function hintFor(note: Note | undefined, value: unknown): string | undefined {
  const takesQuota = note?.expected.includes('60/minute') ?? false;
  if (value === null)
    return note?.expected.startsWith('an object') ? undefined : 'remove the line to leave the option out';
  if (takesQuota && typeof value === 'number' && value >= 1) return `per what? write "${value}/minute"`;
  if (typeof value !== 'string') return undefined;
  if (note?.expected === HOST_WORDS) {
    const host = suggestHost(value);
    return host === undefined ? undefined : `write ${host}`;
  }
  if (takesQuota) {
    const suggested = suggestQuota(value);
    if (suggested !== undefined) return `write "${suggested}"`;
    return /^[1-9]\d*$/.test(value.trim()) ? `per what? write "${value.trim()}/minute"` : undefined;
  }
  if (!/^\s*\d+(\.\d+)?\s*$/.test(value)) return undefined;
  return note?.expected.includes('milliseconds')
    ? `write ${value.trim()} without quotes for milliseconds, or a unit: "${value.trim()}s"`
    : `write ${value.trim()} without quotes`;
}

function nearestValue(issue: Issue, value: unknown): string | undefined {
  if (issue.code !== 'invalid_value' || typeof value !== 'string') return undefined;
  return nearest(value, issue.values.map(String));
}

function unknownKey(place: Place, path: Path, key: string): Located {
  const holder = valueAt(place.root, path);
  const known = keysOf(schemaAt(place.schema, path));
  return located([...place.base, ...path, key], unknownOption(key, isObject(holder) ? holder : {}, known));
}

/** An unknown key, with what it is called here or the nearest right one. */
export function unknownOption(
  key: string,
  holder: Readonly<Record<string, unknown>>,
  known: readonly string[],
): Omit<PolicyProblem, 'path'> {
  const translation = translateForeign(key, holder);
  const near = translation === undefined ? nearest(key, known) : undefined;
  const advice = translation ?? (near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`);
  return {
    message: `unknown option; ${advice}`,
    found: holder[key],
    expected: known.join(', '),
    ...(near === undefined ? {} : { nearest: near }),
  };
}

function located(path: Path, problem: Omit<PolicyProblem, 'path'>): Located {
  return { path, problem: { path: pathText(path), ...problem } };
}

/** Zod passes an own `__proto__` by without a word. No option lies deeper than this; a cycle ends here. */
const DEEPEST = 8;

function protoKeys(value: unknown, base: Path): Located[] {
  if (typeof value !== 'object' || value === null || base.length > DEEPEST) return [];
  const here = Object.hasOwn(value, '__proto__')
    ? [located([...base, '__proto__'], { message: 'unknown option' })]
    : [];
  const entries = Object.entries(value).filter(([key, inner]) => key !== '__proto__' && typeof inner === 'object');
  return [...here, ...entries.flatMap(([key, inner]) => protoKeys(inner, [...base, key]))];
}

/** The keys that an object schema knows. */
export function keysOf(schema: Schema | undefined): string[] {
  const object = schema === undefined ? undefined : alternatives(schema).find((each) => defOf(each).type === 'object');
  return object === undefined ? [] : Object.keys(defOf(object).shape ?? {});
}

function noteAt(schema: Schema, path: Path): Note | undefined {
  const found = schemaAt(schema, path);
  return found === undefined ? undefined : noteOf(found);
}

/** The schema that a path leads to, optionals taken off; undefined where it leads nowhere. */
export function schemaAt(schema: Schema, path: Path): Schema | undefined {
  let current: Schema | undefined = bare(schema);
  for (const part of path) {
    if (current === undefined) return undefined;
    current = stepInto(current, part);
  }
  return current;
}

function stepInto(schema: Schema, part: PropertyKey): Schema | undefined {
  for (const each of alternatives(schema)) {
    const def = defOf(each);
    const inner =
      def.type === 'array' && typeof part === 'number'
        ? def.element
        : def.type === 'record' && typeof part === 'string'
          ? def.valueType
          : def.type === 'object' && Object.hasOwn(def.shape ?? {}, part)
            ? def.shape?.[part as string]
            : undefined;
    if (inner !== undefined) return bare(inner);
  }
  return undefined;
}

/** A union's members, theirs too; anything else is its own only one. */
function alternatives(schema: Schema): Schema[] {
  const inner = bare(schema);
  const options = defOf(inner).options;
  return options === undefined ? [inner] : options.flatMap(alternatives);
}

/** Without `optional`; the note stands on what is inside it. */
export function bare(schema: Schema): Schema {
  const def = defOf(schema);
  return def.type === 'optional' && def.innerType !== undefined ? bare(def.innerType) : schema;
}

/** The parts of a schema's definition that are walked here; zod types them per kind. */
interface Def {
  readonly type: string;
  readonly innerType?: Schema;
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly element?: Schema;
  readonly valueType?: Schema;
  readonly options?: readonly Schema[];
}

function defOf(schema: Schema): Def {
  return schema._zod.def as unknown as Def;
}
