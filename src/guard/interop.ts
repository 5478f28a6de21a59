import { bare, child, isCall, isMember, keyName, list, type Syntax } from './syntax.ts';

/**
 * What compilers and bundlers put around `require` where the source had an `import`: `__importDefault` and
 * `__importStar` of TypeScript, `_interopRequireDefault` of Babel and swc, `__toESM` of esbuild, `_interopNamespace`
 * of Rollup. What they return is the module, or has it as `default`.
 */
const HELPER = /^_*(?:import(?:Default|Star)|toESM|interop_?(?:require_?)?(?:default|wildcard|namespace)\w*)\d*$/i;

/** The module that a compiler's helper is called with; undefined for every other call. */
export function adaptedBy(call: Syntax): Syntax | undefined {
  const callee = isCall(call) ? child(call, 'callee') : undefined;
  return callee !== undefined && isHelper(callee) ? list(call, 'arguments')[0] : undefined;
}

/** `__require` of esbuild and Rolldown, however a bundle comes by it. */
export function isBundlersLoader(callee: Syntax): boolean {
  return callee.type === 'Identifier' && /^__require\d*$/.test(callee.name as string);
}

function isHelper(callee: Syntax): boolean {
  const inner = bare(callee);
  if (inner.type === 'Identifier') return HELPER.test(inner.name as string);
  if (inner.type === 'SequenceExpression') {
    const last = list(inner, 'expressions').at(-1);
    return last !== undefined && isHelper(last);
  }
  if (!isMember(inner)) return false;
  const name = keyName(inner, 'property') ?? '';
  const object = child(inner, 'object');
  // `_interop_require_default._(...)` of swc, `_interopRequireDefault.default(...)` of Babel's runtime.
  return HELPER.test(name) || (/^(?:_|default)$/.test(name) && object !== undefined && isHelper(object));
}
