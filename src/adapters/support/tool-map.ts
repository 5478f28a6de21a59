import { InvalidCall } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { show } from '../../base/text.ts';
import type { CallContext } from '../../dispatch/context.ts';

/** What of a call's context a map may fix per tool. */
export type ToolContext = Pick<CallContext, 'priority' | 'cost' | 'account' | 'idempotent'>;

/** Where a tool's calls go: a downstream, one with a context for its calls, or `false`: no gate, on purpose. */
export type ToolRule = string | false | ({ readonly downstream: string } & ToolContext);

/** Tool names to rules. `*` stands for every tool that has no rule of its own. */
export type ToolMap = Readonly<Record<string, ToolRule>>;

/** One tool's rule, read. */
export interface Mapped {
  readonly downstream: string;
  readonly context: ToolContext;
}

/** The rule for a tool; undefined where it passes no gate or is not mapped. */
export function mappedOf(map: ToolMap, tool: string): Mapped | undefined {
  const rule = ruleOf(map, tool);
  if (rule === undefined || rule === false) return undefined;
  if (typeof rule === 'string') return { downstream: rule, context: {} };
  const { downstream, ...context } = rule;
  return { downstream, context };
}

/**
 * Checks a map when tools are wrapped: tools without a rule, rules without a tool, downstreams that the dispatcher
 * does not know.
 *
 * @throws {InvalidCall} with every problem at once.
 */
export function checkToolMap(map: ToolMap, tools: readonly string[], known: readonly string[], where: string): void {
  const problems = [
    ...tools.filter((tool) => ruleOf(map, tool) === undefined).map((tool) => unmapped(map, tool)),
    ...Object.keys(map).flatMap((tool) => [...strange(tool, tools), ...unknownDownstream(map, tool, known)]),
  ];
  if (problems.length === 0) return;
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  throw new InvalidCall(
    `${where}: ${count} in the map from tool to downstream\n${problems.map((line) => `  ${line}`).join('\n')}`,
    {
      downstream: '',
    },
  );
}

function ruleOf(map: ToolMap, tool: string): ToolRule | undefined {
  return Object.hasOwn(map, tool) ? map[tool] : Object.hasOwn(map, '*') ? map['*'] : undefined;
}

function unmapped(map: ToolMap, tool: string): string {
  const near = nearest(tool, Object.keys(map));
  const hint = near === undefined ? '' : `; is ${show(near)} meant for it?`;
  return `${show(tool)}: no downstream; write one, or false for a tool that needs no gate${hint}`;
}

function strange(tool: string, tools: readonly string[]): string[] {
  if (tool === '*' || tools.includes(tool)) return [];
  const near = nearest(tool, tools);
  return [`${show(tool)}: no such tool${near === undefined ? '' : `; did you mean ${show(near)}?`}`];
}

function unknownDownstream(map: ToolMap, tool: string, known: readonly string[]): string[] {
  const name = mappedOf(map, tool)?.downstream;
  if (name === undefined || known.includes(name)) return [];
  const near = nearest(name, known);
  const hint = near === undefined ? `declared are: ${known.join(', ')}` : `did you mean ${show(near)}?`;
  return [`${show(tool)}: unknown downstream ${show(name)}; ${hint}`];
}
