import { type Known, knownOf } from './catalog.ts';
import { Gates } from './gates.ts';
import { GlobalDispatcher } from './global-dispatcher.ts';
import { adaptedBy } from './interop.ts';
import { Options } from './options.ts';
import { type Origin, Origins } from './origin.ts';
import type { Finding, ScanOptions } from './report.ts';
import { whatIs } from './say.ts';
import type { Binding } from './scope.ts';
import { bare, child, isCall, isMember, isWrapper, keyName, list, type Syntax } from './syntax.ts';
import { readTree, type Tree } from './tree.ts';

/** How an expression is used, once all that names it is read. */
type Use =
  | { readonly kind: 'call'; readonly call: Syntax }
  | { readonly kind: 'alias'; readonly target: Syntax }
  | { readonly kind: 'value' | 'export' | 'nothing' };

/** Finds what sends in one file, and how it is used. */
export class Uses {
  readonly #options: ScanOptions;
  readonly #tree: Tree;
  readonly #origins: Origins;
  readonly #transports: Options;
  readonly #gates: Gates;
  readonly #dispatcher: GlobalDispatcher;
  readonly #found = new Map<string, Finding>();

  constructor(program: Syntax, options: ScanOptions) {
    this.#options = options;
    this.#tree = readTree(program);
    this.#origins = new Origins(this.#tree, (binding, origin) => isTaken(binding, origin));
    this.#transports = new Options(this.#tree, this.#origins);
    this.#gates = new Gates(this.#tree, this.#origins, options.gates ?? []);
    const isEverywhere = options.isFetchGated === true;
    this.#dispatcher = new GlobalDispatcher(this.#tree, this.#origins, this.#gates, isEverywhere);
  }

  /** In the order in which they stand. */
  findings(): Finding[] {
    for (const { node, module, name } of this.#tree.reExports) {
      const known = knownOf({
        module: module.replace(/^node:/, ''),
        path: name === '*' ? [] : [name],
        isLoaded: false,
      });
      if (known !== undefined && (known.act !== undefined || known.isHolder)) this.#add(node, 'export', known);
    }
    for (const node of this.#tree.identifiers) this.#follow(node);
    for (const node of this.#tree.calls)
      if (this.#origins.of(node).some(({ isLoaded }) => isLoaded)) this.#follow(node);
    for (const node of this.#tree.calls) this.#superCall(node);
    return [...this.#found.values()].sort((a, b) => a.line - b.line || a.column - b.column);
  }

  /** From a name or a loaded module outwards, to where it is used. */
  #follow(root: Syntax): void {
    let node = root;
    if (this.#origins.of(node).length === 0) return;
    // `new (await import('x')).y()` is one thing, and so is a client that is made and used at once.
    for (let steps = 0; steps < 50; steps += 1) {
      const { leaf, top } = this.#joined(this.#named(node));
      const use = this.#useOf(top);
      const known = use.kind === 'call' ? this.#worst(top) : undefined;
      if (use.kind !== 'call') this.#judge(leaf, top, use);
      else if (known?.act !== undefined) this.#judgeCall(top, use.call, known);
      if (use.kind !== 'call' || known?.act !== undefined) return;
      node = use.call;
    }
  }

  /** The whole of `a.b.c`, with types and `await` around it. */
  #named(node: Syntax): Syntax {
    let whole = node;
    for (let at = this.#tree.parentOf(whole); at !== undefined; at = this.#tree.parentOf(whole)) {
      const isInner = (isMember(at) && child(at, 'object') === whole) || adaptedBy(at) === whole;
      const isPart = isInner || isWrapper(at) || at.type === 'AwaitExpression';
      if (!isPart && !this.#isThen(at, whole)) return whole;
      whole = at;
    }
    return whole;
  }

  /** `import('x').then((m) => m.y)` is `m.y`. */
  #isThen(at: Syntax, node: Syntax): boolean {
    if (at.type === 'ArrowFunctionExpression')
      return child(at, 'body') === node && this.#isLoaded(this.#tree.parentOf(at));
    return isCall(at) && (list(at, 'arguments')[0] === node || child(at, 'callee') === node) && this.#isLoaded(at);
  }

  #isLoaded(node: Syntax | undefined): boolean {
    if (node === undefined || !isCall(node)) return false;
    const callee = child(node, 'callee');
    const isThen = callee !== undefined && isMember(callee) && keyName(callee, 'property') === 'then';
    return isThen && this.#origins.of(node).some(({ isLoaded }) => isLoaded);
  }

  /** With the alternatives around it: `secure ? https : http`; `leaf` is what is named in one piece. */
  #joined(named: Syntax): { readonly leaf: Syntax; readonly top: Syntax } {
    let leaf = named;
    let top = named;
    for (let at = this.#tree.parentOf(top); at !== undefined; at = this.#tree.parentOf(top)) {
      if (isMember(at) && child(at, 'object') === top) leaf = at;
      else if (!isWrapper(at) && at.type !== 'AwaitExpression' && !isAlternative(at, top)) break;
      top = at;
    }
    return { leaf, top };
  }

  #useOf(node: Syntax): Use {
    const parent = this.#tree.parentOf(node);
    if (parent === undefined) return { kind: 'nothing' };
    if ((isCall(parent) || parent.type === 'NewExpression') && child(parent, 'callee') === node) {
      return { kind: 'call', call: parent };
    }
    if (parent.type === 'TaggedTemplateExpression') {
      return child(parent, 'tag') === node ? { kind: 'call', call: parent } : { kind: 'value' };
    }
    if (parent.type === 'VariableDeclarator') return { kind: 'alias', target: child(parent, 'id') ?? parent };
    if (parent.type === 'AssignmentExpression') {
      const left = child(parent, 'left');
      if (left === undefined || left === node) return { kind: 'nothing' };
      const isName = left.type === 'Identifier' ? this.#isLocal(left) : left.type === 'ObjectPattern';
      return isName ? { kind: 'alias', target: left } : { kind: 'value' };
    }
    if (
      parent.type === 'ExportSpecifier' ||
      parent.type === 'ExportDefaultDeclaration' ||
      parent.type === 'TSExportAssignment'
    ) {
      return { kind: 'export' };
    }
    return { kind: isQuestion(parent, node) || this.#isReceiver(parent, node) ? 'nothing' : 'value' };
  }

  /** `axios.get.bind(axios)`, and `f.call(http2)`, which compilers make of `http2.f?.()`. */
  #isReceiver(parent: Syntax, node: Syntax): boolean {
    const callee = isCall(parent) && list(parent, 'arguments')[0] === node ? child(parent, 'callee') : undefined;
    const method = callee !== undefined && isMember(callee) ? child(callee, 'object') : undefined;
    if (callee === undefined || method === undefined) return false;
    const modules = new Set(this.#origins.of(node).map(({ module }) => module));
    const isOfIt = this.#origins.of(method).some(({ module }) => module !== 'global' && modules.has(module));
    return isOfIt && /^(?:call|apply|bind)$/.test(keyName(callee, 'property') ?? '');
  }

  /** Whether a name that is written to is one of this file. */
  #isLocal(target: Syntax): boolean {
    return this.#tree.bindingOf(target) !== undefined;
  }

  #judge(leaf: Syntax, top: Syntax, use: Use): void {
    if (use.kind === 'alias') this.#judgeAlias(leaf, use.target);
    if (use.kind !== 'value' && use.kind !== 'export') return;
    for (const origin of this.#origins.of(leaf)) {
      const known = knownOf(origin);
      if (known === undefined || (known.act === undefined && !known.isHolder)) continue;
      const isClass = known.act === 'construct' && known.isSdk;
      if (use.kind === 'export' || !isClass) this.#add(leaf, use.kind, known, top);
    }
  }

  /** A name for what sends: what it is taken for once is a finding there, what only holds it is followed. */
  #judgeAlias(leaf: Syntax, target: Syntax): void {
    for (const origin of this.#origins.of(leaf)) {
      for (const { path, identifier } of namesOf(target)) {
        const binding = this.#tree.declaredBy(identifier) ?? this.#tree.bindingOf(identifier);
        const taken = { ...origin, path: [...origin.path, ...path] };
        const known = knownOf(taken);
        if (binding === undefined || known === undefined || !isTaken(binding, taken)) continue;
        this.#add(path.length === 0 ? leaf : identifier, binding.isExported ? 'export' : 'value', known, identifier);
      }
    }
  }

  #judgeCall(callee: Syntax, call: Syntax, known: Known): void {
    const { act, spec } = known;
    if (act === 'request') {
      if (!this.#transports.ofRequest(call, spec)) this.#add(callee, 'call', known, call);
      return;
    }
    if (this.#isComposed(call, spec.transport)) return;
    this.#judgeClient(call, known);
  }

  #judgeClient(call: Syntax, known: Known): void {
    const transport = this.#transports.ofClient(call, known.spec);
    if (transport === 'given' || (transport === 'unknown' && this.#options.isStrict !== true)) return;
    this.#add(call, transport === 'unknown' ? 'unknown' : 'client', known, call);
  }

  /** `super({...})` of a class that extends an SDK's. */
  #superCall(call: Syntax): void {
    if (child(call, 'callee')?.type !== 'Super') return;
    let at: Syntax | undefined = call;
    while (at !== undefined && !at.type.startsWith('Class')) at = this.#tree.parentOf(at);
    while (at !== undefined && at.type !== 'ClassDeclaration' && at.type !== 'ClassExpression')
      at = this.#tree.parentOf(at);
    const base = at === undefined ? undefined : child(at, 'superClass');
    const known = base === undefined ? undefined : this.#worst(base);
    if (known?.act === 'construct') this.#judgeClient(call, known);
  }

  /** Whether an undici client becomes a gated one, or is only handed to what sends. */
  #isComposed(made: Syntax, transport: readonly string[]): boolean {
    if (!transport.includes('dispatcher')) return false;
    let node = made;
    let parent = this.#tree.parentOf(node);
    while (parent !== undefined && isWrapper(parent)) {
      node = parent;
      parent = this.#tree.parentOf(node);
    }
    if (parent === undefined) return false;
    if (isMember(parent) && child(parent, 'object') === node) return this.#isComposing(parent);
    if (parent.type === 'ObjectProperty') return keyName(parent, 'key') === 'dispatcher';
    if (isCall(parent)) return this.#gates.nameOf(child(parent, 'callee') ?? parent) === 'setGlobalDispatcher';
    if (parent.type !== 'VariableDeclarator') return false;
    const id = child(parent, 'id');
    const binding = id === undefined ? undefined : this.#tree.declaredBy(id);
    const references = binding?.references ?? [];
    return !binding?.isExported && references.length > 0 && references.every((one) => this.#isComposed(one, transport));
  }

  #isComposing(member: Syntax): boolean {
    const name = keyName(member, 'property');
    if (name !== 'compose') return /^(?:close|destroy|closed|destroyed|on|once|off|stats)$/.test(name ?? '');
    const call = this.#tree.parentOf(member);
    const handed = call === undefined ? [] : list(call, 'arguments');
    return handed.some((one) => this.#origins.of(one).every(({ module }) => module !== 'undici'));
  }

  /** What an expression may be that sends. */
  #worst(node: Syntax): Known | undefined {
    const known = this.#origins.of(node).flatMap((origin) => knownOf(origin) ?? []);
    return known.find(({ act }) => act !== undefined) ?? known[0];
  }

  #add(node: Syntax, use: 'call' | 'client' | 'unknown' | 'value' | 'export', known: Known, from: Syntax = node): void {
    if (this.#dispatcher.covers(node, known, from) || this.#gates.covers(node)) return;
    const { line, column } = node.loc.start;
    const at = `${line}:${column}`;
    if (!this.#found.has(at))
      this.#found.set(at, { line, column: column + 1, ...whatIs(bare(node), use, known, from) });
  }
}

/** Whether a name takes what sends away from where it stands, so that it is a finding there and its uses are none. */
function isTaken(binding: Binding, origin: Origin): boolean {
  const known = knownOf(origin);
  if (known === undefined || binding.sources.every(({ kind }) => kind !== 'value')) return false;
  if (binding.isExported) return known.act !== undefined || known.isHolder;
  return known.act !== undefined && known.act !== 'construct' && !known.isHolder && !origin.isLoaded;
}

/** Whether the value of a node may be the value of the expression around it. */
function isAlternative(around: Syntax, node: Syntax): boolean {
  if (around.type === 'ConditionalExpression') return child(around, 'test') !== node;
  if (around.type === 'LogicalExpression') return around.operator !== '&&' || child(around, 'right') === node;
  return around.type === 'SequenceExpression' && list(around, 'expressions').at(-1) === node;
}

/** Whether a value is only asked whether it is there. */
function isQuestion(parent: Syntax, node: Syntax): boolean {
  switch (parent.type) {
    case 'UnaryExpression':
    case 'BinaryExpression':
    case 'ExpressionStatement':
    case 'TemplateLiteral':
    case 'SwitchStatement':
    case 'ClassDeclaration':
    case 'ClassExpression':
      return true;
    case 'LogicalExpression':
      return child(parent, 'left') === node;
    case 'MemberExpression':
    case 'OptionalMemberExpression':
      return child(parent, 'property') === node;
    default:
      return child(parent, 'test') === node;
  }
}

/** The names of a pattern, and the way to each. */
function namesOf(target: Syntax, path: readonly string[] = []): { path: readonly string[]; identifier: Syntax }[] {
  const inner = bare(target);
  if (inner.type === 'Identifier') return [{ path, identifier: inner }];
  if (inner.type === 'AssignmentPattern') return namesOf(child(inner, 'left') ?? inner, path);
  if (inner.type !== 'ObjectPattern') return [];
  return list(inner, 'properties').flatMap((property) => {
    if (property.type === 'RestElement') return namesOf(child(property, 'argument') ?? property, path);
    const value = child(property, 'value');
    const name = keyName(property, 'key');
    return value === undefined || name === undefined ? [] : namesOf(value, [...path, name]);
  });
}
