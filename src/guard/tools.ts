import type { Origin, Origins } from './origin.ts';
import { packageOf } from './spec.ts';
import { bare, child, isCall, keyName, list, type Syntax } from './syntax.ts';
import type { Tree } from './tree.ts';

/** Packages of agent runtimes, and what they call their makers of tools. */
const RUNTIME = /^(?:ai|langchain|@langchain\/.+|@openai\/agents(?:-core)?)$/;
const MAKER = /^(?:tool|dynamicTool|DynamicTool|DynamicStructuredTool)$/;
/** Classes whose `_call` the runtime runs. */
const BASE = /^(?:Structured)?Tool$/;

/** Knows the tools of agent runtimes: functions in one run when the tool is called, and not before. */
export class Tools {
  readonly #tree: Tree;
  readonly #origins: Origins;

  constructor(tree: Tree, origins: Origins) {
    this.#tree = tree;
    this.#origins = origins;
  }

  /** Whether a tool is made here and `part` goes into it: a function, a description with one, or the class. */
  makes(node: Syntax, part: Syntax): boolean {
    const callee = isCall(node) || node.type === 'NewExpression' ? child(node, 'callee') : undefined;
    if (callee === undefined) return false;
    if (callee !== part) return list(node, 'arguments').includes(part) && this.#isOf(callee, MAKER);
    const inner = bare(callee);
    const sources = inner.type === 'Identifier' ? (this.#tree.bindingOf(inner)?.sources ?? []) : [];
    return node.type === 'NewExpression' && sources.length === 1 && sources[0]?.kind === 'class';
  }

  /** The class of tools that this is the `_call` of. */
  classOf(member: Syntax): Syntax | undefined {
    const body = this.#tree.parentOf(member);
    const owner = body?.type === 'ClassBody' ? this.#tree.parentOf(body) : undefined;
    const base = owner?.type === 'ClassDeclaration' ? child(owner, 'superClass') : undefined;
    if (base === undefined || member.static === true || keyName(member, 'key') !== '_call') return undefined;
    return this.#isOf(base, BASE) ? owner : undefined;
  }

  /** Whether `property` is the tools of an agent of LangChain, all of whose calls go through `gateToolCalls`. */
  areOfGatedAgent(property: Syntax, isGate: (call: Syntax) => boolean): boolean {
    const options = this.#tree.parentOf(property);
    const call = options === undefined ? undefined : this.#tree.parentOf(options);
    const callee = call !== undefined && isCall(call) ? child(call, 'callee') : undefined;
    if (options === undefined || callee === undefined || keyName(property, 'key') !== 'tools') return false;
    const middleware = propertyOf(options, 'middleware');
    if (middleware === undefined || !this.#isOf(callee, /^create(?:React)?Agent$/)) return false;
    return list(this.#written(middleware), 'elements').some((one) => {
      const made = this.#written(one);
      const [described] = isCall(made) ? list(made, 'arguments') : [];
      const wrap = described === undefined ? undefined : propertyOf(this.#written(described), 'wrapToolCall');
      const gate = wrap === undefined ? undefined : this.#written(wrap);
      return gate !== undefined && isCall(gate) && isGate(gate);
    });
  }

  /** What a constant was given, or what stands here. */
  #written(node: Syntax): Syntax {
    const inner = bare(node);
    const [source, ...more] = inner.type === 'Identifier' ? (this.#tree.bindingOf(inner)?.sources ?? []) : [];
    return source?.kind === 'value' && source.path.length === 0 && more.length === 0 ? bare(source.node) : inner;
  }

  #isOf(node: Syntax, name: RegExp): boolean {
    return this.#origins.of(node).some((origin) => isOfRuntime(origin, name));
  }
}

function isOfRuntime({ module, path }: Origin, name: RegExp): boolean {
  return RUNTIME.test(packageOf(module).name) && !path.includes('()') && name.test(path.at(-1) ?? '');
}

function propertyOf(object: Syntax, key: string): Syntax | undefined {
  const found = list(object, 'properties').find((one) => one.type === 'ObjectProperty' && keyName(one, 'key') === key);
  return found === undefined ? undefined : child(found, 'value');
}
