import { Declarer } from './declare.ts';
import { type Binding, Scope } from './scope.ts';
import {
  bare,
  child,
  childrenOf,
  isCall,
  isFunction,
  isMember,
  isTypeOnly,
  keyName,
  list,
  type Syntax,
} from './syntax.ts';

/** `export ... from`: what is handed on without a name in this file. */
export interface ReExport {
  readonly node: Syntax;
  readonly module: string;
  /** `*` for all of it. */
  readonly name: string;
}

/** A file with its names resolved. */
export interface Tree {
  readonly parentOf: (node: Syntax) => Syntax | undefined;
  /** What an identifier that is read or written means; undefined for a global. */
  readonly bindingOf: (identifier: Syntax) => Binding | undefined;
  /** The binding that a declaration at this node gives its name to. */
  readonly declaredBy: (node: Syntax) => Binding | undefined;
  readonly identifiers: readonly Syntax[];
  /** `require(...)`, `import(...)` and every other call, in the order they stand. */
  readonly calls: readonly Syntax[];
  readonly reExports: readonly ReExport[];
  /** `this.x` and everything with `.#x`. */
  readonly ownMembers: readonly Syntax[];
}

/** Resolves the names of a program. */
export function readTree(program: Syntax): Tree {
  return new Reader(program);
}

type Visit = (node: Syntax, scope: Scope) => void;

class Reader implements Tree {
  readonly identifiers: Syntax[] = [];
  readonly calls: Syntax[] = [];
  readonly reExports: ReExport[] = [];
  readonly ownMembers: Syntax[] = [];
  readonly #parents = new Map<Syntax, Syntax>();
  readonly #scopes = new Map<Syntax, Scope>();
  readonly #declarer: Declarer;

  constructor(program: Syntax) {
    this.#declarer = new Declarer({
      visit: (node, parent, scope) => this.#visit(node, parent, scope),
      place: (node, parent) => this.#parents.set(node, parent),
      written: (identifier, scope) => this.#scopes.set(identifier, scope),
    });
    const scope = new Scope(undefined, true);
    for (const statement of list(program, 'body')) this.#visit(statement, program, scope);
    this.#declarer.settle();
    for (const node of this.identifiers) this.bindingOf(node)?.references.push(node);
  }

  readonly parentOf = (node: Syntax): Syntax | undefined => this.#parents.get(node);
  readonly bindingOf = (node: Syntax): Binding | undefined => this.#scopes.get(node)?.find(node.name as string);
  readonly declaredBy = (node: Syntax): Binding | undefined => this.#declarer.declaredBy(node);

  #visit(node: Syntax, parent: Syntax, scope: Scope): void {
    if (isTypeOnly(node)) return;
    this.#parents.set(node, parent);
    if (isCall(node) || node.type === 'NewExpression' || node.type === 'ImportExpression') this.calls.push(node);
    const visit = this.#visits[node.type];
    if (isFunction(node)) this.#function(node, scope);
    else if (visit !== undefined) visit(node, scope);
    else this.#each(node, childrenOf(node), scope);
  }

  #each(parent: Syntax, nodes: readonly Syntax[], scope: Scope): void {
    for (const node of nodes) this.#visit(node, parent, scope);
  }

  #field(node: Syntax, field: string, scope: Scope): void {
    const value = child(node, field);
    if (value !== undefined) this.#visit(value, node, scope);
  }

  #block(node: Syntax, scope: Scope, holdsVar = false): void {
    this.#each(node, childrenOf(node), new Scope(scope, holdsVar));
  }

  /** A key is code only where it is computed. */
  #keyed(node: Syntax, scope: Scope): void {
    this.#each(node, list(node, 'decorators'), scope);
    if (node.computed === true) this.#field(node, 'key', scope);
    this.#field(node, 'value', scope);
  }

  #function(node: Syntax, outer: Scope): void {
    this.#each(node, list(node, 'decorators'), outer);
    if (node.computed === true) this.#field(node, 'key', outer);
    let scope = outer;
    if (node.type === 'FunctionDeclaration') this.#declarer.named(node, outer, 'function');
    if (node.type === 'FunctionExpression' && child(node, 'id') !== undefined) {
      scope = new Scope(outer, false);
      this.#declarer.named(node, scope, 'function');
    }
    const inner = new Scope(scope, true);
    if (node.type !== 'ArrowFunctionExpression') inner.declare('arguments');
    const [first] = list(node, 'params');
    for (const parameter of list(node, 'params')) {
      const imported = parameter === first ? this.#importedBy(node) : undefined;
      this.#declarer.pattern(parameter, node, inner, imported);
    }
    const body = child(node, 'body');
    if (body === undefined) return;
    this.#parents.set(body, node);
    // What the body declares is not seen by the defaults of the parameters.
    if (body.type === 'BlockStatement') this.#block(body, inner, true);
    else this.#visit(body, node, inner);
  }

  /** `import('x')` where a function is what it is handed to by `then`. */
  #importedBy(node: Syntax): Syntax | undefined {
    const call = this.#parents.get(node);
    if (call === undefined || !isCall(call) || list(call, 'arguments')[0] !== node) return undefined;
    const callee = child(call, 'callee');
    if (callee === undefined || !isMember(callee) || keyName(callee, 'property') !== 'then') return undefined;
    const loaded = child(callee, 'object');
    return loaded === undefined ? undefined : bare(loaded);
  }

  #class(node: Syntax, outer: Scope): void {
    this.#each(node, list(node, 'decorators'), outer);
    if (node.type === 'ClassDeclaration') {
      if (node.declare === true) return;
      this.#declarer.named(node, outer, 'class');
    }
    const scope = new Scope(outer, false);
    if (node.type === 'ClassExpression') this.#declarer.named(node, scope, 'class');
    this.#field(node, 'superClass', scope);
    this.#field(node, 'body', scope);
  }

  #loop(node: Syntax, outer: Scope): void {
    const scope = new Scope(outer, false);
    const left = child(node, 'left');
    if (left !== undefined && left.type !== 'VariableDeclaration') this.#declarer.target(left, node, scope, undefined);
    else this.#field(node, 'left', scope);
    this.#field(node, 'right', scope);
    this.#field(node, 'body', scope);
  }

  #export(node: Syntax, scope: Scope): void {
    if (node.exportKind === 'type') return;
    const module = child(node, 'source')?.value as string | undefined;
    if (module !== undefined) {
      for (const one of list(node, 'specifiers')) {
        if (one.exportKind === 'type') continue;
        const local = child(one, 'local');
        const name = one.type === 'ExportNamespaceSpecifier' ? '*' : String(local?.name ?? local?.value ?? 'default');
        this.reExports.push({ node: one, module, name });
      }
      return;
    }
    this.#field(node, 'declaration', scope);
    this.#declarer.exported(child(node, 'declaration'));
    for (const one of list(node, 'specifiers')) {
      if (one.exportKind === 'type') continue;
      this.#parents.set(one, node);
      this.#field(one, 'local', scope);
    }
  }

  readonly #visits: Readonly<Record<string, Visit>> = {
    Identifier: (node, scope) => {
      this.identifiers.push(node);
      this.#scopes.set(node, scope);
    },
    MemberExpression: (node, scope) => this.#member(node, scope),
    OptionalMemberExpression: (node, scope) => this.#member(node, scope),
    ObjectProperty: (node, scope) => this.#keyed(node, scope),
    ClassProperty: (node, scope) => this.#keyed(node, new Scope(scope, true)),
    ClassAccessorProperty: (node, scope) => this.#keyed(node, new Scope(scope, true)),
    ClassPrivateProperty: (node, scope) => this.#keyed(node, new Scope(scope, true)),
    StaticBlock: (node, scope) => this.#block(node, scope, true),
    BlockStatement: (node, scope) => this.#block(node, scope),
    SwitchStatement: (node, scope) => {
      this.#field(node, 'discriminant', scope);
      this.#each(node, list(node, 'cases'), new Scope(scope, false));
    },
    ForStatement: (node, scope) => this.#block(node, scope),
    ForInStatement: (node, scope) => this.#loop(node, scope),
    ForOfStatement: (node, scope) => this.#loop(node, scope),
    CatchClause: (node, outer) => {
      const scope = new Scope(outer, false);
      const parameter = child(node, 'param');
      if (parameter !== undefined) this.#declarer.pattern(parameter, node, scope, undefined);
      this.#field(node, 'body', scope);
    },
    ClassDeclaration: (node, scope) => this.#class(node, scope),
    ClassExpression: (node, scope) => this.#class(node, scope),
    LabeledStatement: (node, scope) => this.#field(node, 'body', scope),
    BreakStatement: () => undefined,
    ContinueStatement: () => undefined,
    MetaProperty: () => undefined,
    VariableDeclaration: (node, scope) => {
      // `declare const fetch` only says that there is a global of that name.
      if (node.declare === true) return;
      for (const one of list(node, 'declarations')) {
        this.#parents.set(one, node);
        const id = child(one, 'id');
        const init = child(one, 'init');
        if (id !== undefined)
          this.#declarer.pattern(id, one, node.kind === 'var' ? scope.varScope : scope, init, scope);
        if (init !== undefined) this.#visit(init, one, scope);
      }
    },
    AssignmentExpression: (node, scope) => {
      const left = child(node, 'left');
      if (left !== undefined) this.#declarer.target(left, node, scope, child(node, 'right'));
      this.#field(node, 'right', scope);
    },
    UpdateExpression: (node, scope) => {
      const argument = child(node, 'argument');
      if (argument !== undefined) this.#declarer.target(argument, node, scope, undefined);
    },
    ImportDeclaration: (node, scope) => this.#declarer.imports(node, scope),
    ExportNamedDeclaration: (node, scope) => this.#export(node, scope),
    ExportDefaultDeclaration: (node, scope) => {
      this.#field(node, 'declaration', scope);
      this.#declarer.exported(child(node, 'declaration'));
    },
    ExportAllDeclaration: (node) => {
      if (node.exportKind === 'type') return;
      this.reExports.push({ node, module: child(node, 'source')?.value as string, name: '*' });
    },
    TSImportEqualsDeclaration: (node, scope) => {
      const module = this.#declarer.importEquals(node, scope);
      if (module !== undefined && node.isExport === true) this.reExports.push({ node, module, name: '*' });
    },
    TSEnumDeclaration: (node, scope) => {
      if (node.declare === true) return;
      this.#declarer.named(node, scope, undefined);
      this.#each(node, list(node, 'members').length > 0 ? list(node, 'members') : childrenOf(node), scope);
    },
    TSEnumBody: (node, scope) => this.#each(node, list(node, 'members'), scope),
    TSEnumMember: (node, scope) => this.#field(node, 'initializer', scope),
    TSModuleDeclaration: (node, scope) => {
      if (node.declare === true || node.kind === 'global') return;
      this.#declarer.named(node, scope, undefined);
      this.#field(node, 'body', scope);
    },
    TSModuleBlock: (node, scope) => this.#block(node, scope, true),
  };

  #member(node: Syntax, scope: Scope): void {
    const isOwn = child(node, 'object')?.type === 'ThisExpression' || child(node, 'property')?.type === 'PrivateName';
    if (isOwn) this.ownMembers.push(node);
    this.#field(node, 'object', scope);
    if (node.computed === true) this.#field(node, 'property', scope);
  }
}
