import type { Syntax } from './syntax.ts';

/** Where the value of a name comes from. */
export type Source =
  | { readonly kind: 'import'; readonly module: string; readonly path: readonly string[] }
  | { readonly kind: 'value'; readonly node: Syntax; readonly path: readonly string[] }
  | { readonly kind: 'function' | 'class'; readonly node: Syntax };

/** A name and everything that is known of it. */
export interface Binding {
  readonly name: string;
  readonly sources: Source[];
  /** Where it is read. */
  readonly references: Syntax[];
  isExported: boolean;
}

/** The names of one block, function or module. */
export class Scope {
  readonly parent: Scope | undefined;
  /** Whether `var` stops here. */
  readonly holdsVar: boolean;
  readonly #names = new Map<string, Binding>();

  constructor(parent: Scope | undefined, holdsVar: boolean) {
    this.parent = parent;
    this.holdsVar = holdsVar;
  }

  /** The name of this scope; a second declaration of it is the same binding. */
  declare(name: string): Binding {
    let binding = this.#names.get(name);
    if (binding === undefined) {
      binding = { name, sources: [], references: [], isExported: false };
      this.#names.set(name, binding);
    }
    return binding;
  }

  /** What the name means here, or undefined for a global. */
  find(name: string): Binding | undefined {
    let scope: Scope | undefined = this;
    for (; scope !== undefined; scope = scope.parent) {
      const binding = scope.#names.get(name);
      if (binding !== undefined) return binding;
    }
    return undefined;
  }

  /** The scope that a `var` written here belongs to. */
  get varScope(): Scope {
    return this.holdsVar || this.parent === undefined ? this : this.parent.varScope;
  }
}
