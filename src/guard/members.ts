import { child, keyName, list, type Syntax } from './syntax.ts';
import type { Tree } from './tree.ts';

/** Which uses a private member of a class has: nobody else can reach it. */
export class Members {
  readonly #tree: Tree;
  /** Uses by the member that they name. */
  readonly #uses = new Map<Syntax, Syntax[]>();

  constructor(tree: Tree) {
    this.#tree = tree;
    for (const use of tree.ownMembers) {
      const member = this.of(use);
      if (member === undefined) continue;
      const uses = this.#uses.get(member) ?? [];
      if (!this.#isWritten(use)) uses.push(use);
      this.#uses.set(member, uses);
    }
  }

  /** Where a private field or method is read; undefined for what others can reach. */
  usesOf(member: Syntax): readonly Syntax[] | undefined {
    return privateName(member) === undefined ? undefined : (this.#uses.get(member) ?? []);
  }

  /** The private member that `this.#x` names, or `this.x` where it says `private`. */
  of(use: Syntax): Syntax | undefined {
    const name = usedName(use);
    for (let at = this.#tree.parentOf(use); at !== undefined; at = this.#tree.parentOf(at)) {
      if (at.type !== 'ClassBody') continue;
      const found = list(at, 'body').find((member) => privateName(member) === name);
      if (found !== undefined) return found;
      // `this` is of the class around it; a private name may be of one further out.
      if (name?.startsWith('#') !== true) return undefined;
    }
    return undefined;
  }

  #isWritten(use: Syntax): boolean {
    const parent = this.#tree.parentOf(use);
    return parent?.type === 'AssignmentExpression' && child(parent, 'left') === use;
  }
}

function privateName(member: Syntax): string | undefined {
  const key = child(member, 'key');
  if (key?.type === 'PrivateName') return `#${String(child(key, 'id')?.name)}`;
  return member.accessibility === 'private' ? keyName(member, 'key') : undefined;
}

function usedName(use: Syntax): string | undefined {
  const property = child(use, 'property');
  if (property?.type === 'PrivateName') return `#${String(child(property, 'id')?.name)}`;
  return keyName(use, 'property');
}
