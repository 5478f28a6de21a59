import type { PolicyProblem } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { Parsed } from './parse.ts';
import { foundText, isObject, type Path, pathText } from './paths.ts';

/** Where a value was written. */
export interface Origin {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** Files that were laid one over the other. */
export interface Layered {
  readonly policy: unknown;
  /** By path, for sections as for values. */
  readonly origins: ReadonlyMap<string, Origin>;
  readonly problems: readonly PolicyProblem[];
}

/** One file and what is in it. */
export interface Layer extends Parsed {
  readonly file: string;
}

/**
 * Lays files over the first one, key by key: objects are merged, lists and scalars replaced, and a written
 * `null` takes an option or a downstream out. A key with nothing behind it takes nothing out.
 */
export function layPolicies(layers: readonly Layer[]): Layered {
  const [base, ...overlays] = layers;
  const origins = new Map<string, Origin>();
  const problems: PolicyProblem[] = [];
  if (base === undefined) return { policy: undefined, origins, problems };
  for (const [path, line] of base.lines) origins.set(path, { file: base.file, line });
  let { policy } = base;
  for (const layer of overlays) {
    if (isObject(layer.policy)) policy = new Overlay(layer, origins, problems).over(policy, layer.policy, []);
    else problems.push({ path: layer.file, message: shapeless(layer.policy), found: layer.policy });
  }
  return { policy, origins, problems };
}

function shapeless(policy: unknown): string {
  return policy === null || policy === undefined
    ? 'there is nothing in this file; write {} for an overlay that changes nothing'
    : `expected an object with downstreams; found ${foundText(policy)}`;
}

/** One file on its way over those before it. */
class Overlay {
  readonly #layer: Layer;
  readonly #origins: Map<string, Origin>;
  readonly #problems: PolicyProblem[];

  constructor(layer: Layer, origins: Map<string, Origin>, problems: PolicyProblem[]) {
    this.#layer = layer;
    this.#origins = origins;
    this.#problems = problems;
  }

  over(below: unknown, above: Readonly<Record<string, unknown>>, path: Path): unknown {
    const merged = new Map(isObject(below) ? Object.entries(below) : []);
    if (!isObject(below)) {
      this.#forget(path);
      this.#place(path);
    }
    for (const [key, value] of Object.entries(above)) {
      const inner = [...path, key];
      if (value === null) this.#takeOut(merged, inner, key);
      else if (isObject(value)) merged.set(key, this.over(merged.get(key), value, inner));
      else {
        merged.set(key, value);
        this.#forget(inner);
        this.#place(inner);
        if (Array.isArray(value)) this.#placeBelow(inner);
      }
    }
    return fromEntries(merged);
  }

  #takeOut(merged: Map<string, unknown>, path: Path, key: string): void {
    const text = pathText(path);
    if (this.#layer.blanks.has(text)) {
      this.#complain(text, 'found nothing; write null to take it out, or remove the line');
    } else if (text === 'downstreams') {
      this.#complain(text, 'cannot be taken out; take out its downstreams one by one');
    } else if (!merged.delete(key)) {
      const near = nearest(key, merged.keys());
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      this.#complain(text, `there is nothing to take out here${hint}`);
    } else this.#forget(path);
  }

  #complain(path: string, message: string): void {
    const line = this.#layer.lines.get(path);
    const where = line === undefined ? this.#layer.file : `${this.#layer.file}:${line}`;
    this.#problems.push({ path, message: `${message} (${where})`, found: null });
  }

  /** What stood at a path, and below it, stands there no more. */
  #forget(path: Path): void {
    const text = pathText(path);
    for (const known of this.#origins.keys()) {
      if (known === text || isBelow(known, text)) this.#origins.delete(known);
    }
  }

  #place(path: Path): void {
    const text = pathText(path);
    const line = this.#layer.lines.get(text);
    if (line !== undefined) this.#origins.set(text, { file: this.#layer.file, line });
  }

  #placeBelow(path: Path): void {
    const text = pathText(path);
    for (const [known, line] of this.#layer.lines) {
      if (isBelow(known, text)) this.#origins.set(known, { file: this.#layer.file, line });
    }
  }
}

function isBelow(path: string, section: string): boolean {
  return path.startsWith(section) && (path[section.length] === '.' || path[section.length] === '[');
}

/** Own keys, `__proto__` among them. */
function fromEntries(entries: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}

/** Names the file and line of what a problem is about, or of the nearest section around it that was written. */
export function withOrigin(
  problem: PolicyProblem,
  origins: ReadonlyMap<string, Origin>,
  text: (origin: Origin) => string,
): PolicyProblem {
  const origin = originAt(problem.path, origins);
  return origin === undefined ? problem : { ...problem, message: `${problem.message} (${text(origin)})` };
}

/** Where the value at a path was written, or else the nearest section around it. */
export function originAt(path: string, origins: ReadonlyMap<string, Origin>): Origin | undefined {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(at.lastIndexOf('.'), at.lastIndexOf('['), 0))) {
    const origin = origins.get(at);
    if (origin !== undefined) return origin;
  }
  return undefined;
}
