import { adaptedBy, isBundlersLoader } from './interop.ts';
import type { Binding } from './scope.ts';
import { bare, child, isCall, isMember, keyName, list, literalText, type Syntax } from './syntax.ts';
import type { Tree } from './tree.ts';

/** What an expression is: a global or something of a module, and the way from there. */
export interface Origin {
  /** `global`, or what stands in the import, without `node:`. */
  readonly module: string;
  /** Names from there; `()` is the result of a call, `new` an instance, `*` a name that is known at run time only. */
  readonly path: readonly string[];
  /** Whether `require` or `import()` stands in this very expression: then it is an import, not a use. */
  readonly isLoaded: boolean;
}

export const GLOBAL = 'global';
const GLOBAL_OBJECTS = new Set(['globalThis', 'window', 'self', 'global', 'frames']);
/** Ways deeper than this are no way anybody writes. */
const DEEPEST = 12;

/** Whether what a name was given stops being followed there, because it is a finding there. */
export type StopsAt = (binding: Binding, origin: Origin) => boolean;

/** Says what the expressions of a file are. */
export class Origins {
  readonly #tree: Tree;
  readonly #stopsAt: StopsAt;
  readonly #known = new Map<Binding, readonly Origin[]>();
  readonly #seen = new Map<Syntax, readonly Origin[]>();
  #settling = 0;

  constructor(tree: Tree, stopsAt: StopsAt) {
    this.#tree = tree;
    this.#stopsAt = stopsAt;
  }

  /** All that it may be; empty where nothing is known. */
  of(node: Syntax): readonly Origin[] {
    const seen = this.#seen.get(node);
    if (seen !== undefined) return seen;
    const origins = this.#read(node);
    // What is read while a name is settled may lack what that name is.
    if (this.#settling === 0) this.#seen.set(node, origins);
    return origins;
  }

  #read(node: Syntax): readonly Origin[] {
    const inner = bare(node);
    if (isMember(inner)) return this.#member(inner);
    if (isCall(inner)) return this.#call(inner);
    switch (inner.type) {
      case 'Identifier':
        return this.#identifier(inner);
      case 'AwaitExpression':
        return this.#field(inner, 'argument');
      case 'AssignmentExpression':
        return this.#field(inner, 'right');
      case 'ConditionalExpression':
        return [...this.#field(inner, 'consequent'), ...this.#field(inner, 'alternate')];
      case 'LogicalExpression':
        return inner.operator === '&&'
          ? this.#field(inner, 'right')
          : [...this.#field(inner, 'left'), ...this.#field(inner, 'right')];
      case 'SequenceExpression': {
        const last = list(inner, 'expressions').at(-1);
        return last === undefined ? [] : this.of(last);
      }
      case 'NewExpression':
        return below(this.#field(inner, 'callee'), 'new');
      case 'ImportExpression':
        return this.#loaded(child(inner, 'source'));
      case 'ClassExpression':
        return this.#class(inner);
      default:
        return [];
    }
  }

  /** What a name may stand for, wherever it is used. */
  ofBinding(binding: Binding): readonly Origin[] {
    const known = this.#known.get(binding);
    if (known !== undefined) return known;
    // A name that is made of itself adds nothing to itself.
    this.#known.set(binding, []);
    this.#settling += 1;
    const origins = this.#sources(binding).filter((origin) => !this.#stopsAt(binding, origin));
    this.#settling -= 1;
    // Names that are given to each other in branches would double what is known at each step.
    const different = new Map(origins.map((origin) => [`${origin.module} ${origin.path.join('.')}`, origin]));
    const settled = [...different.values()].map((origin) => ({ ...origin, isLoaded: false }));
    this.#known.set(binding, settled);
    return settled;
  }

  #sources(binding: Binding): Origin[] {
    return binding.sources.flatMap((source) => {
      if (source.kind === 'import') return [originOf(source.module, source.path, false)];
      if (source.kind === 'value') return this.of(source.node).map((origin) => source.path.reduce(extend, origin));
      return source.kind === 'class' ? this.#class(source.node) : [];
    });
  }

  /** A class without a constructor of its own is built as the one it extends. */
  #class(node: Syntax): readonly Origin[] {
    const body = child(node, 'body');
    const hasOwn = body !== undefined && list(body, 'body').some((member) => member.kind === 'constructor');
    return hasOwn ? [] : this.#field(node, 'superClass');
  }

  #field(node: Syntax, field: string): readonly Origin[] {
    const value = child(node, field);
    return value === undefined ? [] : this.of(value);
  }

  #identifier(node: Syntax): readonly Origin[] {
    const binding = this.#tree.bindingOf(node);
    if (binding !== undefined) return this.ofBinding(binding);
    const name = node.name as string;
    return [originOf(GLOBAL, GLOBAL_OBJECTS.has(name) ? [] : [name], false)];
  }

  #member(node: Syntax): readonly Origin[] {
    const origins = this.#field(node, 'object');
    if (origins.length === 0) return origins;
    const property = child(node, 'property');
    const name = keyName(node, 'property') ?? (property === undefined ? undefined : this.textOf(property)) ?? '*';
    return below(origins, name);
  }

  #call(node: Syntax): readonly Origin[] {
    const callee = child(node, 'callee');
    if (callee === undefined) return [];
    const [first] = list(node, 'arguments');
    if (callee.type === 'Import' || isBundlersLoader(callee)) return this.#loaded(first);
    const adapted = adaptedBy(node);
    if (adapted !== undefined) return this.of(adapted);
    const origins = this.of(callee);
    if (origins.some(isLoader)) return this.#loaded(first);
    return this.#then(callee, origins, first) ?? below(origins, '()');
  }

  /** `import('x').then((m) => m.y)`, and `Promise.resolve().then(() => require('x'))`, which compilers make of `import()`. */
  #then(callee: Syntax, origins: readonly Origin[], handler: Syntax | undefined): readonly Origin[] | undefined {
    if (!isMember(callee) || keyName(callee, 'property') !== 'then') return undefined;
    const body = handler?.type === 'ArrowFunctionExpression' ? child(handler, 'body') : undefined;
    if (handler === undefined || body === undefined) return undefined;
    if (origins.some(({ isLoaded }) => isLoaded)) {
      return this.of(body).map((origin) => ({ ...origin, isLoaded: true }));
    }
    const isResolved = origins.some(
      ({ module, path }) => module === GLOBAL && path.join('.') === 'Promise.resolve.().then',
    );
    const found = isResolved ? this.of(body) : [];
    return found.some(({ isLoaded }) => isLoaded) ? found : undefined;
  }

  #loaded(specifier: Syntax | undefined): readonly Origin[] {
    const module = specifier === undefined ? undefined : this.textOf(specifier);
    return module === undefined ? [] : [originOf(module, [], true)];
  }

  /** The text of a string that is written out here or in a constant. */
  textOf(node: Syntax): string | undefined {
    const inner = bare(node);
    const text = literalText(inner);
    if (text !== undefined || inner.type !== 'Identifier') return text;
    const [source, ...more] = this.#tree.bindingOf(inner)?.sources ?? [];
    if (source?.kind !== 'value' || more.length > 0 || source.path.length > 0) return undefined;
    return literalText(bare(source.node));
  }
}

function originOf(specifier: string, path: readonly string[], isLoaded: boolean): Origin {
  return { module: specifier.replace(/^node:/, ''), path, isLoaded };
}

function below(origins: readonly Origin[], name: string): Origin[] {
  return origins.map((origin) => extend(origin, name));
}

function extend(origin: Origin, name: string): Origin {
  const { module, path } = origin;
  if (path.length > DEEPEST) return origin;
  // `globalThis.window.fetch` is `fetch`; a module's `default` is the module, as bundlers and Node mix them.
  if (module === GLOBAL && path.length === 0 && GLOBAL_OBJECTS.has(name)) return origin;
  return { ...origin, path: [...path, name] };
}

/** Whether calling this loads the module that its argument names. */
function isLoader({ module, path }: Origin): boolean {
  const way = path.join('.');
  if (module === 'module') return /^(?:default\.)?createRequire\.\(\)$/.test(way);
  return module === GLOBAL && LOADERS.has(way);
}

const LOADERS = new Set(['require', 'module.require', 'process.getBuiltinModule', 'createRequire.()']);
