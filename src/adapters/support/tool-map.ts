import { InvalidCall } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { show } from '../../base/text.ts';
import { PRIORITIES } from '../../base/words.ts';
import type { CallContext } from '../../dispatch/context.ts';

/** What of a call's context a map may fix per tool. */
export type ToolContext = Pick<CallContext, 'priority' | 'cost' | 'account' | 'idempotent'>;

/** Where a tool's calls go: a downstream, one with a context for its calls, or `false`: no gate, on purpose. */
export type ToolRule<Name extends string = string> = Name | false | ({ readonly downstream: Name } & ToolContext);

/** Tool names to rules. `*` stands for every tool that has no rule of its own. */
export type ToolMap<Name extends string = string, Tool extends string = string> = {
  readonly [tool in Tool | '*']?: ToolRule<Name>;
};

/** One tool's rule, read. */
export interface Mapped {
  readonly downstream: string;
  readonly context: ToolContext;
}

/** The rule for a tool; undefined where it passes no gate or is not mapped. */
export function mappedOf(map: ToolMap, tool: string): Mapped | undefined {
  const rule = ruleOf(map, tool);
  return rule === undefined || rule === false ? undefined : readRule(rule);
}

/** Whether a map has a rule for a tool, `false` included. */
export function isMapped(map: ToolMap, tool: string): boolean {
  return ruleOf(map, tool) !== undefined;
}

/**
 * Checks that a map has a rule for one tool, where tools are not known all at once.
 *
 * @throws {InvalidCall} that names the tool, and the rule that may be meant for it.
 */
export function checkMapped(map: ToolMap, tool: string, where: string): void {
  failWith(isMapped(map, tool) ? [] : [unmapped(map, tool)], `${where}: %s in the map from tool to downstream`);
}

/** A rule that names a downstream, read. */
export function readRule(rule: Exclude<ToolRule, false>): Mapped {
  if (typeof rule === 'string') return { downstream: rule, context: {} };
  const { downstream, ...context } = rule;
  return { downstream, context };
}

/** Keys of a map that are names of tools. */
export function toolsOf(map: ToolMap): string[] {
  return typeof map === 'object' && map !== null ? Object.keys(map).filter((key) => key !== '*') : [];
}

/**
 * Checks a map when tools are wrapped: tools without a rule, rules without a tool, rules that cannot be read,
 * downstreams that the dispatcher does not know.
 *
 * @throws {InvalidCall} with every problem at once.
 */
export function checkToolMap(map: ToolMap, tools: readonly string[], known: readonly string[], where: string): void {
  if (typeof map !== 'object' || map === null || Array.isArray(map)) {
    const hint = typeof map === 'string' ? `; for all tools write { '*': ${show(map)} }` : '';
    const found = `${where}: downstreams: expected a map from tool to downstream, found ${show(map)}${hint}`;
    throw new InvalidCall(found, { downstream: '' });
  }
  const once = [...new Set(tools)];
  const problems = [
    ...once.filter((tool) => !isMapped(map, tool)).map((tool) => unmapped(map, tool)),
    ...Object.keys(map).flatMap((tool) => [...strange(tool, once), ...wrongRule(show(tool), map[tool], known)]),
  ];
  failWith(problems, `${where}: %s in the map from tool to downstream`);
}

/**
 * Checks one rule that stands alone; `false` is none.
 *
 * @throws {InvalidCall} with every problem at once.
 */
export function checkRule(rule: unknown, known: readonly string[], where: string): void {
  const isNone = rule === false || rule === undefined;
  const problems = isNone
    ? [`downstream: expected a text, found ${show(rule)}`]
    : wrongRule('downstream', rule as ToolRule, known);
  failWith(problems, `${where}: %s`);
}

function failWith(problems: readonly string[], title: string): void {
  if (problems.length === 0) return;
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  const lines = problems.map((line) => `  ${line}`).join('\n');
  throw new InvalidCall(`${title.replace('%s', () => count)}\n${lines}`, { downstream: '' });
}

function ruleOf(map: ToolMap, tool: string): ToolRule | undefined {
  // A rule that is undefined is one that somebody left out.
  const own = Object.hasOwn(map, tool) ? map[tool] : undefined;
  if (own !== undefined) return own;
  return Object.hasOwn(map, '*') ? map['*'] : undefined;
}

function unmapped(map: ToolMap, tool: string): string {
  const near = nearest(tool, toolsOf(map));
  const hint = near === undefined ? '' : `; is ${show(near)} meant for it?`;
  return `${show(tool)}: no downstream; write one, or false for a tool that needs no gate${hint}`;
}

function strange(tool: string, tools: readonly string[]): string[] {
  if (tool === '*' || tools.includes(tool)) return [];
  const near = nearest(tool, tools);
  return [`${show(tool)}: no such tool${near === undefined ? '' : `; did you mean ${show(near)}?`}`];
}

const EXPECTED = 'expected a downstream, { downstream, ... } or false';

function wrongRule(path: string, rule: ToolRule | undefined, known: readonly string[]): string[] {
  if (rule === false || rule === undefined) return [];
  if (typeof rule === 'string') return unknownDownstream(path, rule, known);
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule))
    return [`${path}: ${EXPECTED}, found ${show(rule)}`];
  const { downstream, ...context } = rule as Readonly<Record<string, unknown>>;
  const name =
    typeof downstream === 'string'
      ? unknownDownstream(path, downstream, known)
      : [`${path}.downstream: expected a text, found ${show(downstream)}`];
  return [...name, ...Object.entries(context).flatMap(([field, value]) => wrongField(path, field, value))];
}

type Check = readonly [expected: string, fits: (value: unknown) => boolean];

const FIELDS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['priority', [`one of ${PRIORITIES.join(', ')}`, (value) => (PRIORITIES as readonly unknown[]).includes(value)]],
  ['cost', ['a number, or numbers per unit', isCost]],
  ['account', ['a text', (value) => typeof value === 'string']],
  ['idempotent', ['true or false', (value) => typeof value === 'boolean']],
]);

function wrongField(path: string, field: string, value: unknown): string[] {
  const check = FIELDS.get(field);
  if (check === undefined) {
    const near = nearest(field, ['downstream', ...FIELDS.keys()]);
    const hint =
      near === undefined ? `a rule has downstream, ${[...FIELDS.keys()].join(', ')}` : `did you mean ${near}?`;
    return [`${path}.${field}: no such field; ${hint}`];
  }
  const [expected, fits] = check;
  return value === undefined || fits(value) ? [] : [`${path}.${field}: expected ${expected}, found ${show(value)}`];
}

function isCost(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isPermits(value);
  return !Array.isArray(value) && Object.values(value).every(isPermits);
}

function isPermits(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function unknownDownstream(path: string, name: string, known: readonly string[]): string[] {
  if (known.includes(name)) return [];
  const near = nearest(name, known);
  const hint = near === undefined ? `declared are: ${known.join(', ') || 'none'}` : `did you mean ${show(near)}?`;
  return [`${path}: unknown downstream ${show(name)}; ${hint}`];
}
