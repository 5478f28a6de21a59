import type { Origins } from './origin.ts';
import type { Binding } from './scope.ts';
import { packageOf, type Spec } from './spec.ts';
import { bare, child, isCall, isMember, keyName, list, type Syntax } from './syntax.ts';
import type { Tree } from './tree.ts';

/** Whether a client was given something to send with; `unknown` where its options are not written out. */
export type Transport = 'none' | 'given' | 'unknown';

/** Looks for what a client sends with among its arguments. */
export class Options {
  readonly #tree: Tree;
  readonly #origins: Origins;
  /** Whether an object that has a name is what was written at first. */
  readonly #untouched = new Map<Binding, boolean>();

  constructor(tree: Tree, origins: Origins) {
    this.#tree = tree;
    this.#origins = origins;
  }

  /** Of a client that is made by this call. */
  ofClient(call: Syntax, spec: Spec): Transport {
    const given = list(call, 'arguments');
    if (given.some(({ type }) => type === 'SpreadElement')) return 'unknown';
    const { optionsAt } = spec;
    const looked = optionsAt === undefined ? given : given.slice(optionsAt, optionsAt + 1);
    const found = looked.map((one) => this.#inArgument(one, spec, optionsAt !== undefined));
    if (found.includes('given')) return 'given';
    return found.includes('unknown') ? 'unknown' : 'none';
  }

  /** Of a single request: only what is written out counts. */
  ofRequest(call: Syntax, spec: Spec): boolean {
    return list(call, 'arguments').some((one) => this.#inArgument(one, spec, false) === 'given');
  }

  #inArgument(node: Syntax, spec: Spec, isOptions: boolean): Transport {
    const found = this.#object(node);
    if (found === undefined) return isOptions && !isNothing(node) ? 'unknown' : 'none';
    const states = spec.transport.map((way) => this.#inObject(found.object, way.split('.'), found.isWhole));
    if (states.includes('given')) return 'given';
    return states.includes('unknown') ? 'unknown' : 'none';
  }

  /** The object that is written out here or in a constant; whole where nobody else may have written to it. */
  #object(node: Syntax): { readonly object: Syntax; readonly isWhole: boolean } | undefined {
    const inner = bare(node);
    if (inner.type === 'ObjectExpression') return { object: inner, isWhole: true };
    if (inner.type !== 'Identifier') return undefined;
    const binding = this.#tree.bindingOf(inner);
    const [source, ...more] = binding?.sources ?? [];
    if (source?.kind !== 'value' || more.length > 0 || source.path.length > 0) return undefined;
    const object = bare(source.node);
    if (object.type !== 'ObjectExpression') return undefined;
    return { object, isWhole: binding !== undefined && this.#isUntouched(binding) };
  }

  #isUntouched(binding: Binding): boolean {
    const known = this.#untouched.get(binding);
    if (known !== undefined) return known;
    const { references } = binding;
    const isUntouched = references.length === 1 || references.every((one) => this.#isRead(one));
    this.#untouched.set(binding, isUntouched);
    return isUntouched;
  }

  /** Whether nothing is added to an object here: `options.fetch = gated` and `complete(options)` may. */
  #isRead(reference: Syntax): boolean {
    const parent = this.#tree.parentOf(reference);
    if (parent === undefined || parent.type === 'SpreadElement') return parent !== undefined;
    if (parent.type === 'NewExpression') return true;
    const around = isMember(parent) ? this.#tree.parentOf(parent) : undefined;
    return around !== undefined && !/^(?:Assignment|Member|OptionalMember|Update)/.test(around.type);
  }

  #inObject(object: Syntax, [key = '', ...rest]: readonly string[], isWhole: boolean): Transport {
    let state: Transport = isWhole ? 'none' : 'unknown';
    for (const property of list(object, 'properties')) {
      if (property.type === 'SpreadElement') {
        const spread = this.#object(child(property, 'argument')!);
        const inside = spread === undefined ? 'unknown' : this.#inObject(spread.object, [key, ...rest], spread.isWhole);
        if (inside !== 'none') state = inside;
        continue;
      }
      const name = keyName(property, 'key');
      if (name === undefined) state = 'unknown';
      if (name !== key) continue;
      const value = child(property, 'value');
      if (value === undefined) return 'given';
      if (rest.length > 0) state = this.#below(value, rest);
      else state = this.#isOwn(value) ? 'given' : 'none';
    }
    return state;
  }

  #below(value: Syntax, rest: readonly string[]): Transport {
    const found = this.#object(value);
    return found === undefined ? 'unknown' : this.#inObject(found.object, rest, found.isWhole);
  }

  /** Not `undefined`, and not a handler of the SDK itself with nothing of ours in it. */
  #isOwn(value: Syntax): boolean {
    const inner = bare(value);
    if (isNothing(inner)) return false;
    const [source, ...more] = inner.type === 'Identifier' ? (this.#tree.bindingOf(inner)?.sources ?? []) : [];
    if (source?.kind === 'value' && source.path.length === 0 && more.length === 0) return this.#isOwn(source.node);
    if (!isCall(inner) && inner.type !== 'NewExpression') return true;
    const callee = child(inner, 'callee');
    const origins = callee === undefined ? [] : this.#origins.of(callee);
    // A dispatcher of undici goes by itself; one that wraps another may wrap a gated one.
    if (origins.some(({ module, path }) => module === 'undici' && DISPATCHER.test(path.join('.')))) return false;
    const isForeign = origins.some(({ module }) => !module.startsWith('.') && packageOf(module).name !== 'penstock');
    return !isForeign || list(inner, 'arguments').some((one) => bare(one).type !== 'ObjectExpression');
  }
}

const DISPATCHER = /^(?:default\.)?(?:Agent|Pool|BalancedPool|RoundRobinPool|Client|H2CClient)$/;

function isNothing(node: Syntax): boolean {
  const inner = bare(node);
  if (inner.type === 'NullLiteral' || (inner.type === 'UnaryExpression' && inner.operator === 'void')) return true;
  return inner.type === 'Identifier' && inner.name === 'undefined';
}
