import type { Binding, Scope, Source } from './scope.ts';
import { bare, child, isWrapper, keyName, list, type Syntax } from './syntax.ts';

/** What the walk over the tree does for the declarations it meets. */
export interface Walk {
  /** Reads code. */
  readonly visit: (node: Syntax, parent: Syntax, scope: Scope) => void;
  /** Remembers where a node stands that is no code itself. */
  readonly place: (node: Syntax, parent: Syntax) => void;
  /** Remembers where a name is written to. */
  readonly written: (identifier: Syntax, scope: Scope) => void;
}

type Bind = (identifier: Syntax, source: Source | undefined) => void;

/** What gives names a meaning: declarations, parameters, imports and assignments. */
export class Declarer {
  readonly #on: Walk;
  readonly #byNode = new Map<Syntax, Binding>();
  /** Assignments; what they assign to is known when all is declared. */
  readonly #writes: { readonly name: string; readonly scope: Scope; readonly source: Source | undefined }[] = [];

  constructor(on: Walk) {
    this.#on = on;
  }

  declaredBy(node: Syntax): Binding | undefined {
    return this.#byNode.get(node);
  }

  /** Gives what was assigned to the names that it was assigned to. */
  settle(): void {
    for (const { name, scope, source } of this.#writes) {
      if (source !== undefined) scope.find(name)?.sources.push(source);
    }
  }

  /** Marks the names of a declaration that has been read. */
  exported(declaration: Syntax | undefined): void {
    if (declaration === undefined) return;
    const names = list(declaration, 'declarations').flatMap((one) => identifiersOf(child(one, 'id')));
    for (const node of [declaration, ...names]) {
      const binding = this.#byNode.get(node);
      if (binding !== undefined) binding.isExported = true;
    }
  }

  /** A declaration with an `id`: a function, a class, an enum, a namespace. */
  named(node: Syntax, scope: Scope, kind: 'function' | 'class' | undefined): void {
    const id = child(node, 'id');
    if (id === undefined || typeof id.name !== 'string') return;
    const binding = scope.declare(id.name);
    if (kind !== undefined) binding.sources.push({ kind, node });
    this.#byNode.set(node, binding);
  }

  /** The names of a pattern in `scope`; its defaults and computed keys are code, read in `codeScope`. */
  pattern(pattern: Syntax, parent: Syntax, scope: Scope, init: Syntax | undefined, codeScope = scope): void {
    const bind: Bind = (identifier, source) => {
      const binding = scope.declare(identifier.name as string);
      if (source !== undefined) binding.sources.push(source);
      this.#byNode.set(identifier, binding);
    };
    this.#walk(pattern, parent, codeScope, valueSource(init), bind);
  }

  /** The left side of an assignment. */
  target(target: Syntax, parent: Syntax, scope: Scope, init: Syntax | undefined): void {
    const bind: Bind = (identifier, source) => {
      this.#on.written(identifier, scope);
      this.#writes.push({ name: identifier.name as string, scope, source });
    };
    this.#walk(target, parent, scope, valueSource(init), bind);
  }

  imports(node: Syntax, scope: Scope): void {
    const isType = isTypeKind(node.importKind);
    const module = child(node, 'source')?.value as string;
    for (const one of list(node, 'specifiers')) {
      // A type of that name hides no global.
      if (isType || isTypeKind(one.importKind)) continue;
      const local = child(one, 'local');
      const imported = child(one, 'imported');
      const path = [String(imported?.name ?? imported?.value ?? 'default')];
      const binding = scope.declare(local?.name as string);
      binding.sources.push({ kind: 'import', module, path: one.type === 'ImportNamespaceSpecifier' ? [] : path });
    }
  }

  /** `import x = require('y')`, `import x = a.b`; the module, if there is one. */
  importEquals(node: Syntax, scope: Scope): string | undefined {
    const id = child(node, 'id');
    if (id === undefined || isTypeKind(node.importKind)) return undefined;
    const binding = scope.declare(id.name as string);
    this.#byNode.set(node, binding);
    const reference = child(node, 'moduleReference');
    const module = reference === undefined ? undefined : child(reference, 'expression')?.value;
    if (typeof module !== 'string') return undefined;
    binding.sources.push({ kind: 'import', module, path: [] });
    return module;
  }

  #walk(pattern: Syntax, parent: Syntax, scope: Scope, source: Source | undefined, bind: Bind): void {
    const walk = (inner: Syntax | undefined, from: Source | undefined): void => {
      if (inner !== undefined) this.#walk(inner, pattern, scope, from, bind);
    };
    this.#on.place(pattern, parent);
    for (const decorator of list(pattern, 'decorators')) this.#on.visit(decorator, pattern, scope);
    if (pattern.type === 'Identifier') bind(pattern, source);
    else if (pattern.type === 'ObjectPattern') {
      for (const property of list(pattern, 'properties')) this.#property(property, pattern, scope, source, bind);
    } else if (pattern.type === 'ArrayPattern') {
      for (const element of list(pattern, 'elements')) walk(element, undefined);
    } else if (pattern.type === 'RestElement') walk(child(pattern, 'argument'), undefined);
    else if (pattern.type === 'TSParameterProperty') walk(child(pattern, 'parameter'), source);
    else if (pattern.type === 'AssignmentPattern') {
      walk(child(pattern, 'left'), source);
      const right = child(pattern, 'right');
      if (right !== undefined) this.#on.visit(right, pattern, scope);
    } else if (isWrapper(pattern)) walk(bare(pattern), source);
    else this.#on.visit(pattern, parent, scope);
  }

  #property(property: Syntax, parent: Syntax, scope: Scope, source: Source | undefined, bind: Bind): void {
    this.#on.place(property, parent);
    if (property.type === 'RestElement') {
      const argument = child(property, 'argument');
      // What is left of an object still has what may send.
      if (argument !== undefined) this.#walk(argument, property, scope, source, bind);
      return;
    }
    const key = child(property, 'key');
    if (property.computed === true && key !== undefined) this.#on.visit(key, property, scope);
    const value = child(property, 'value');
    if (value === undefined) return;
    const name = keyName(property, 'key');
    const below =
      source?.kind === 'value' && name !== undefined ? { ...source, path: [...source.path, name] } : undefined;
    this.#walk(value, property, scope, below, bind);
  }
}

function valueSource(node: Syntax | undefined): Source | undefined {
  return node === undefined ? undefined : { kind: 'value', node, path: [] };
}

function isTypeKind(kind: unknown): boolean {
  return kind === 'type' || kind === 'typeof';
}

/** The names that a pattern declares. */
function identifiersOf(pattern: Syntax | undefined): Syntax[] {
  if (pattern === undefined) return [];
  if (pattern.type === 'Identifier') return [pattern];
  const inner = [...list(pattern, 'properties'), ...list(pattern, 'elements')];
  for (const field of ['value', 'left', 'argument'])
    inner.push(...[child(pattern, field)].filter((one) => one !== undefined));
  return inner.flatMap(identifiersOf);
}
