import type { Known } from './catalog.ts';
import type { Gates } from './gates.ts';
import type { Origins } from './origin.ts';
import { bare, child, isCall, isFunction, isMember, isWrapper, keyName, list, type Syntax } from './syntax.ts';
import type { Tree } from './tree.ts';

/** Says what passes the gate because undici's global dispatcher does, which Node's own `fetch` uses too. */
export class GlobalDispatcher {
  readonly #tree: Tree;
  readonly #origins: Origins;
  readonly #gates: Gates;
  readonly #isGatedEverywhere: boolean;
  /** Blocks that set it, and the first statement of each that does. */
  readonly #setIn = new Map<Syntax, number>();

  constructor(tree: Tree, origins: Origins, gates: Gates, isGatedEverywhere: boolean) {
    this.#tree = tree;
    this.#origins = origins;
    this.#gates = gates;
    this.#isGatedEverywhere = isGatedEverywhere;
    for (const call of tree.calls) if (this.#sets(call)) this.#mark(call);
  }

  /** Whether what is known of this place sends through a gated one; `from` is the call, where it is one. */
  covers(node: Syntax, known: Known, from: Syntax): boolean {
    if (!known.usesGlobalFetch || namesDispatcher(from)) return false;
    return this.#isGatedEverywhere || this.#followsSetting(node);
  }

  #sets(call: Syntax): boolean {
    const callee = isCall(call) ? child(call, 'callee') : undefined;
    const [dispatcher] = list(call, 'arguments');
    if (callee === undefined || dispatcher === undefined) return false;
    const isOfUndici = this.#origins
      .of(callee)
      .some(({ module, path }) => module === 'undici' && path.at(-1) === 'setGlobalDispatcher');
    return isOfUndici && this.#isGated(dispatcher);
  }

  /** `agent.compose(gate(dispatcher))`, alone or among others, here or in a constant. */
  #isGated(dispatcher: Syntax): boolean {
    const inner = bare(dispatcher);
    if (inner.type === 'Identifier') {
      const [source, ...more] = this.#tree.bindingOf(inner)?.sources ?? [];
      return source?.kind === 'value' && source.path.length + more.length === 0 && this.#isGated(source.node);
    }
    const callee = isCall(inner) ? child(inner, 'callee') : undefined;
    if (callee === undefined || !isMember(callee) || keyName(callee, 'property') !== 'compose') return false;
    const parts = list(inner, 'arguments').flatMap((one) =>
      one.type === 'ArrayExpression' ? list(one, 'elements') : one,
    );
    if (parts.some((one) => this.#gates.isGate(bare(one)))) return true;
    const object = child(callee, 'object');
    return object !== undefined && this.#isGated(object);
  }

  #mark(call: Syntax): void {
    let statement = this.#tree.parentOf(call);
    while (statement !== undefined && isWrapper(statement)) statement = this.#tree.parentOf(statement);
    const block = statement?.type === 'ExpressionStatement' ? this.#tree.parentOf(statement) : undefined;
    if (statement === undefined || block === undefined) return;
    const at = list(block, 'body').indexOf(statement);
    if (at >= 0) this.#setIn.set(block, Math.min(at, this.#setIn.get(block) ?? at));
  }

  /** Whether it was set by a statement before this one, or beside a function that this stands in. */
  #followsSetting(node: Syntax): boolean {
    if (this.#setIn.size === 0) return false;
    let isInFunction = false;
    let below = node;
    for (let at = this.#tree.parentOf(node); at !== undefined; at = this.#tree.parentOf(at)) {
      const set = this.#setIn.get(at);
      if (set !== undefined && (isInFunction || list(at, 'body').indexOf(below) > set)) return true;
      // One that is called, or handed to a call, where it is written may run at once.
      const parent = isFunction(at) ? this.#tree.parentOf(at) : undefined;
      if (parent !== undefined && !isCall(parent)) isInFunction = true;
      below = at;
    }
    return false;
  }
}

/** Whether a request says which dispatcher it goes by. */
function namesDispatcher(call: Syntax): boolean {
  return list(call, 'arguments').some((one) =>
    list(bare(one), 'properties').some((property) => keyName(property, 'key') === 'dispatcher'),
  );
}
