import type { Known } from './catalog.ts';
import type { Finding } from './report.ts';
import { bare, child, isCall, isMember, keyName, list, literalText, type Syntax } from './syntax.ts';

type Said = Pick<Finding, 'kind' | 'what' | 'problem' | 'fix'>;

/** A finding in words. */
export function whatIs(
  node: Syntax,
  use: 'call' | 'client' | 'unknown' | 'value' | 'export',
  known: Known,
  from: Syntax,
): Said {
  const { fix } = known.spec;
  const written = text(node);
  switch (use) {
    case 'call':
      return {
        kind: 'request',
        what: `${from.type === 'NewExpression' ? 'new ' : ''}${written}(...)`,
        problem: 'passes no gate',
        fix,
      };
    case 'client':
      return {
        kind: 'client',
        what: written,
        problem: known.isSdk ? 'has no gated transport' : 'makes a client that passes no gate',
        fix,
      };
    case 'unknown':
      return {
        kind: 'client',
        what: written,
        problem: 'may have no gated transport: its options are not written here',
        fix,
      };
    case 'export':
      return { kind: 'handed-on', what: `export of ${written}`, problem: 'hands on what passes no gate', fix };
    default:
      return { kind: 'handed-on', what: written, problem: 'is handed on and passes no gate', fix };
  }
}

/** An expression, shortened. */
function text(node: Syntax): string {
  const inner = bare(node);
  if (isMember(inner)) {
    const object = child(inner, 'object');
    const name = keyName(inner, 'property');
    return `${object === undefined ? '' : text(object)}${name === undefined ? '[...]' : `.${name}`}`;
  }
  if (isCall(inner) || inner.type === 'NewExpression') {
    const callee = child(inner, 'callee');
    const module = literalText(list(inner, 'arguments')[0]);
    const isLoad = callee?.type === 'Import' || (callee?.type === 'Identifier' && callee.name === 'require');
    if (isLoad && module !== undefined) return `${text(callee)}('${module}')`;
    return `${inner.type === 'NewExpression' ? 'new ' : ''}${callee === undefined ? '' : text(callee)}(...)`;
  }
  switch (inner.type) {
    case 'Identifier':
      return inner.name as string;
    case 'Super':
      return 'super';
    case 'Import':
    case 'ImportExpression':
      return inner.type === 'Import' ? 'import' : 'import(...)';
    case 'ThisExpression':
      return 'this';
    case 'AwaitExpression':
      return `(await ${text(child(inner, 'argument') ?? inner)})`;
    case 'SequenceExpression': {
      const last = list(inner, 'expressions').at(-1);
      return last === undefined ? '(...)' : text(last);
    }
    case 'LogicalExpression':
      return `(${textOf(inner, 'left')} ${String(inner.operator)} ${textOf(inner, 'right')})`;
    case 'ConditionalExpression':
      return `(... ? ${textOf(inner, 'consequent')} : ${textOf(inner, 'alternate')})`;
    case 'TSImportEqualsDeclaration':
      return String(child(inner, 'id')?.name ?? '(...)');
    case 'ExportAllDeclaration':
    case 'ExportNamespaceSpecifier':
      return '*';
    case 'ExportSpecifier':
      return String(child(inner, 'local')?.name ?? '(...)');
    default:
      return '(...)';
  }
}

function textOf(node: Syntax, field: string): string {
  const inner = child(node, field);
  return inner === undefined ? '...' : text(inner);
}
