import type { Node } from 'oxc-parser';
import { MAY_TOUCH_TIME, MOST_FILE_LINES, MOST_FUNCTION_LINES } from './rooms.ts';
import type { Rule } from './rules-imports.ts';
import { type Source, walk } from './source.ts';

const FUNCTIONS = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];

/** No file holds two ideas. */
export const fileSize: Rule = (sources) =>
  sources.flatMap(({ path, text }) => {
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
    return lines > MOST_FILE_LINES ? [`${path}: ${lines} lines, ${MOST_FILE_LINES} at most`] : [];
  });

/** No function holds two ideas. */
export const functionSize: Rule = (sources) =>
  findings(sources, ({ lineOf }, node) => {
    if (!FUNCTIONS.includes(node.type)) return undefined;
    const lines = lineOf(node.end) - lineOf(node.start) + 1;
    return lines > MOST_FUNCTION_LINES ? `a function of ${lines} lines, ${MOST_FUNCTION_LINES} at most` : undefined;
  });

const TIME = new Set([
  'Date',
  'performance',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
  'MessageChannel',
]);
const MEMBERS = new Set([...TIME, 'hrtime']);

/**
 * Only the clock reads the time or sets a timer. A `Date` that somebody handed in may be recognised,
 * and an instant may be read from text or written as text: neither asks what time it is.
 */
export const time: Rule = (sources) =>
  findings(
    sources.filter(({ path }) => !MAY_TOUCH_TIME.some((start) => path.startsWith(start))),
    (_, node, parents) => {
      if (node.type !== 'Identifier') return undefined;
      const parent = parents.at(-1);
      if (parent === undefined || isTypeOrName(node, parent)) return undefined;
      const isMember = parent.type === 'MemberExpression' && parent.property === node && !parent.computed;
      if (isMember) return isTimeOfGlobal(node, parent) ? `touches ${node.name}` : undefined;
      if (!TIME.has(node.name)) return undefined;
      return node.name === 'Date' && isTimeless(node, parent) ? undefined : `touches ${node.name}`;
    },
  );

/** A key, a parameter of a type or a type's name is not the global. */
function isTypeOrName(node: Node, parent: Node): boolean {
  if (parent.type.startsWith('TS') && parent.type !== 'TSAsExpression' && parent.type !== 'TSNonNullExpression') {
    return true;
  }
  if (parent.type === 'Property') return parent.key === node && !parent.computed;
  return (parent.type === 'MethodDefinition' || parent.type === 'PropertyDefinition') && parent.key === node;
}

/** `globalThis.setTimeout`, `process.hrtime` and `AbortSignal.timeout` are the same by another name. */
function isTimeOfGlobal(node: Node, parent: Node): boolean {
  if (node.type !== 'Identifier' || parent.type !== 'MemberExpression') return false;
  if (parent.object.type !== 'Identifier') return false;
  const owner = parent.object.name;
  if (owner === 'AbortSignal') return node.name === 'timeout';
  return ['globalThis', 'window', 'self', 'process'].includes(owner) && MEMBERS.has(node.name);
}

function isTimeless(node: Node, parent: Node): boolean {
  if (parent.type === 'NewExpression') return parent.callee === node && parent.arguments.length > 0;
  if (parent.type === 'BinaryExpression') return parent.operator === 'instanceof' && parent.right === node;
  if (parent.type !== 'MemberExpression' || parent.property.type !== 'Identifier') return false;
  return ['parse', 'UTC'].includes(parent.property.name);
}

function findings(
  sources: readonly Source[],
  judge: (source: Source, node: Node, parents: readonly Node[]) => string | undefined,
): string[] {
  return sources.flatMap((source) => {
    const found: string[] = [];
    walk(source.program, (node, parents) => {
      const finding = judge(source, node, parents);
      if (finding !== undefined) found.push(`${source.path}:${source.lineOf(node.start)}: ${finding}`);
    });
    return found;
  });
}
