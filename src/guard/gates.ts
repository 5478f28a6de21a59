import { connectsGated, isQuiet, type Penstock } from './mcp.ts';
import { Members } from './members.ts';
import type { Origins } from './origin.ts';
import type { Binding } from './scope.ts';
import { packageOf } from './spec.ts';
import { bare, child, isCall, isFunction, isMember, isWrapper, keyName, list, type Syntax } from './syntax.ts';
import { Tools } from './tools.ts';
import type { Tree } from './tree.ts';

/** Functions of Penstock whose arguments, the first left out, pass the gate. */
const GATES = new Set([
  'callDownstream',
  'wrap',
  'gate',
  'gateTool',
  'gateTools',
  'gateToolCalls',
  'gateClient',
  'gateServer',
  'createFetch',
  'transportFetch',
]);
/** Those that Penstock's packages hand nothing to the gate with. */
const NO_GATES = new Set(['createDispatcher', 'watchUngated', 'inventory']);
/** What a value may be wrapped in on its way to its name, so that nothing runs yet. */
const INERT = new Set([
  'ObjectExpression',
  'ArrayExpression',
  'ObjectProperty',
  'SpreadElement',
  'ConditionalExpression',
  'LogicalExpression',
  'AwaitExpression',
]);

/** Where a value gets a name. */
const NAMING = new Set([
  'VariableDeclarator',
  'AssignmentExpression',
  'ClassProperty',
  'ClassPrivateProperty',
  'ClassAccessorProperty',
]);

/** Says what passes the gate. */
export class Gates {
  readonly #tree: Tree;
  readonly #origins: Origins;
  readonly #names: ReadonlySet<string>;
  readonly #members: Members;
  readonly #tools: Tools;
  readonly #known = new Map<Binding | Syntax, boolean>();
  /** Statements that wait for a permit, with `acquire`. */
  readonly #leases = new Set<Syntax>();

  constructor(tree: Tree, origins: Origins, moreGates: readonly string[]) {
    this.#tree = tree;
    this.#origins = origins;
    this.#members = new Members(tree);
    this.#tools = new Tools(tree, origins);
    this.#names = new Set([...GATES, ...moreGates]);
    for (const call of tree.calls) if (this.#isAcquire(call)) this.#markLease(call);
  }

  /** Whether what stands here runs in the gate, or is handed to it. */
  covers(node: Syntax): boolean {
    let isDeferred = false;
    let isInert = true;
    let isInFunction = false;
    let below = node;
    for (let at = this.#tree.parentOf(node); at !== undefined; at = this.#tree.parentOf(at)) {
      if (isCall(at) && this.#isHandedOver(at, below)) return true;
      // What runs while a tool is made passes no gate, unlike what the tool runs.
      if ((isDeferred || isInert) && this.#isOfGatedTool(at, below)) return true;
      if (!isInFunction && this.#followsLease(at, below)) return true;
      if (isFunction(at)) {
        if (this.#isOfGatesOnly(at)) return true;
        isDeferred = true;
        isInert = true;
        isInFunction ||= !this.#isCallback(at);
      } else if (NAMING.has(at.type)) {
        if (isInert && this.#isOfGatesOnly(at)) return true;
        isInert = false;
      } else if (!isWrapper(at)) {
        const isDefinition = isCall(at) && isDeferred && below.type === 'ObjectExpression';
        isInert &&= INERT.has(at.type) || isDefinition || this.#tools.makes(at, below);
      }
      below = at;
    }
    return false;
  }

  /** Whether what gets a name here, or a place in a class, is used in the gate only. */
  #isOfGatesOnly(node: Syntax): boolean {
    const tool = this.#tools.classOf(node);
    const made = tool === undefined ? undefined : this.#tree.declaredBy(tool);
    if (made !== undefined) return this.#isUsedInGatesOnly(made);
    const named = child(node, node.type === 'AssignmentExpression' ? 'left' : 'id');
    const member = named !== undefined && isMember(named) ? this.#members.of(named) : node;
    const uses = member === undefined ? undefined : this.#members.usesOf(member);
    if (member !== undefined && uses !== undefined) return this.#areCovered(member, uses);
    if (named?.type !== 'Identifier' || node.type === 'FunctionExpression') return false;
    const binding = this.#tree.declaredBy(node) ?? this.#tree.declaredBy(named) ?? this.#tree.bindingOf(named);
    return binding !== undefined && this.#isUsedInGatesOnly(binding);
  }

  /** Whether this goes into what `gateToolFunction` returned, or into an agent whose calls of tools are all gated. */
  #isOfGatedTool(at: Syntax, part: Syntax): boolean {
    if (at.type === 'ObjectProperty') {
      return this.#tools.areOfGatedAgent(
        at,
        (call) => this.isGate(call) && this.#penstock.isNamed(call, 'gateToolCalls'),
      );
    }
    const callee = isCall(at) ? child(at, 'callee') : undefined;
    if (callee === undefined || list(at, 'arguments')[0] !== part) return false;
    return this.#penstock.isMadeBy(callee, 'gateToolFunction');
  }

  readonly #penstock: Penstock = {
    isGate: (call) => this.isGate(call),
    isNamed: (call, name) => this.nameOf(child(call, 'callee') ?? call) === name,
    isMadeBy: (value, name) =>
      this.#origins
        .of(value)
        .some(({ module, path }) => path.at(-1) === '()' && path.at(-2) === name && !isForeign(module)),
  };

  /** Whether a call is of the gate, by its name and by where that comes from. */
  isGate(call: Syntax): boolean {
    const callee = isCall(call) ? child(call, 'callee') : undefined;
    const name = callee === undefined ? undefined : this.nameOf(callee);
    if (callee === undefined || name === undefined) return false;
    const modules = this.#origins.of(callee).map(({ module }) => module);
    if (modules.some((module) => packageOf(module).name === 'penstock')) return !NO_GATES.has(name);
    if (!this.#names.has(name) || modules.some(isForeign)) return false;
    if (name === 'callDownstream') return true;
    // `function wrap(fn)` of the file itself is what its body says.
    const inner = bare(callee);
    return inner.type !== 'Identifier' || !this.#functionOf(this.#tree.bindingOf(inner));
  }

  /** The last name of what is called, however it was renamed. */
  nameOf(callee: Syntax): string | undefined {
    const inner = bare(callee);
    if (isMember(inner)) return keyName(inner, 'property');
    if (inner.type !== 'Identifier') return undefined;
    const [source] = this.#tree.bindingOf(inner)?.sources ?? [];
    if (source?.kind === 'import') return source.path[0] === 'default' ? (inner.name as string) : source.path[0];
    if (source?.kind === 'value') {
      if (source.path.length > 0) return source.path.at(-1);
      const value = bare(source.node);
      if (isMember(value)) return keyName(value, 'property');
    }
    return inner.name as string;
  }

  /** Whether `argument` of this call is run in the gate by what is called. */
  #isHandedOver(call: Syntax, argument: Syntax): boolean {
    const at = list(call, 'arguments').indexOf(argument);
    if (at < 0) return false;
    if (at > 0 && this.isGate(call)) return true;
    const callee = child(call, 'callee');
    if (callee === undefined) return false;
    if (at === 0 && (this.#isAcquired(callee) || connectsGated(this.#tree, call, this.#penstock))) return true;
    if (at === 0 && this.#penstock.isNamed(call, 'transportFetch') && this.isGate(call)) return true;
    if (this.#names.has(this.nameOf(callee) ?? '') && !GATES.has(this.nameOf(callee) ?? '')) return true;
    const inner = bare(callee);
    const helper = inner.type === 'Identifier' ? this.#functionOf(this.#tree.bindingOf(inner)) : undefined;
    const parameter = helper === undefined ? undefined : list(helper, 'params')[at];
    const binding = parameter === undefined ? undefined : this.#tree.declaredBy(parameter);
    return binding !== undefined && this.#isUsedInGatesOnly(binding);
  }

  /** The one function that a name stands for. */
  #functionOf(binding: Binding | undefined): Syntax | undefined {
    const [source, ...more] = binding?.sources ?? [];
    if (source === undefined || more.length > 0) return undefined;
    if (source.kind === 'function') return source.node;
    if (source.kind !== 'value' || source.path.length > 0) return undefined;
    const value = bare(source.node);
    return isFunction(value) ? value : undefined;
  }

  #isUsedInGatesOnly(binding: Binding): boolean {
    return !binding.isExported && this.#areCovered(binding, binding.references);
  }

  #areCovered(used: Binding | Syntax, uses: readonly Syntax[]): boolean {
    const known = this.#known.get(used);
    if (known !== undefined) return known;
    // A function that calls itself is no reason against it.
    const before = this.#known.size;
    this.#known.set(used, true);
    const running = uses.filter((one) => !isQuiet(this.#tree, one));
    const areCovered = running.length > 0 && running.every((one) => this.covers(one));
    this.#known.set(used, areCovered);
    // What was found gated meanwhile was found so because this one was taken to be.
    if (!areCovered) for (const [one, was] of [...this.#known].slice(before + 1)) if (was) this.#known.delete(one);
    return areCovered;
  }

  /** A function that is written where it is handed over, and so may run after what stands before it. */
  #isCallback(node: Syntax): boolean {
    const parent = this.#tree.parentOf(node);
    return parent !== undefined && isCall(parent);
  }

  #isAcquire(call: Syntax): boolean {
    const callee = child(call, 'callee');
    if (callee === undefined || this.nameOf(callee) !== 'acquire' || list(call, 'arguments').length === 0) return false;
    return !this.#origins.of(callee).some(({ module }) => isForeign(module));
  }

  /** `acquire(...).then` */
  #isAcquired(callee: Syntax): boolean {
    const promise = isMember(callee) && keyName(callee, 'property') === 'then' ? child(callee, 'object') : undefined;
    return promise !== undefined && isCall(promise) && this.#isAcquire(promise);
  }

  #markLease(call: Syntax): void {
    let isAwaited = false;
    for (let at = this.#tree.parentOf(call); at !== undefined && !isFunction(at); at = this.#tree.parentOf(at)) {
      if (at.type === 'AwaitExpression') isAwaited = true;
      if (isAwaited) this.#leases.add(at);
      // What waits in one branch says nothing of what follows both.
      if (at.type === 'BlockStatement' || at.type === 'IfStatement') return;
    }
  }

  /** Whether a permit was waited for in a statement before this one. */
  #followsLease(block: Syntax, statement: Syntax): boolean {
    if (this.#leases.size === 0) return false;
    const statements = list(block, block.type === 'SwitchCase' ? 'consequent' : 'body');
    const at = statements.indexOf(statement);
    return statements.slice(0, Math.max(0, at)).some((one) => this.#leases.has(one));
  }
}

/** Whether a module is neither of this program nor of Penstock. */
function isForeign(module: string): boolean {
  return !/^(?:[.#~]|@\/|global$)/.test(module) && packageOf(module).name !== 'penstock';
}
