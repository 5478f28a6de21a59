import { InvalidCall } from '../../base/errors.ts';
import { INSIDE, type Inside, OWN_RUN } from '../../base/inside.ts';
import { nearest } from '../../base/nearest.ts';
import { show } from '../../base/text.ts';
import type { Dispatcher } from '../../contract.ts';
import { checkToolMap, type Mapped, mappedOf, type ToolMap } from '../support/tool-map.ts';

type Check = readonly [isRight: (value: unknown) => boolean, expected: string];

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

const CHECKS: Readonly<Record<string, Check>> = {
  downstream: [(value) => typeof value === 'string' && value !== '', 'the name of a downstream'],
  downstreams: [isObject, 'an object from tool names to downstreams'],
  onRefused: [(value) => value === 'return' || value === 'throw', '"return" or "throw"'],
  context: [(value) => typeof value === 'function', 'a function that returns a context'],
  progress: [(value) => typeof value === 'boolean', 'true or false'],
  tellServer: [(value) => typeof value === 'boolean', 'true or false'],
  tool: [(value) => typeof value === 'string', 'the name of the tool'],
};

/** Throws `InvalidCall` for an option that is not known, or not what it should be. */
export function checkOptions(options: unknown, known: readonly string[], where: string): void {
  if (!isObject(options)) throw invalid(where, 'options', options, 'an object');
  for (const [key, value] of Object.entries(options as object)) {
    const near = nearest(key, known);
    if (!known.includes(key)) {
      throw invalid(where, key, 'an option that is not known', near ?? `one of ${known.join(', ')}`);
    }
    const [isRight, expected] = CHECKS[key]!;
    if (value !== undefined && !isRight(value)) throw invalid(where, key, show(value), expected);
  }
}

/** Throws where something has no such method: it is no client, or no server. */
export function checkMethod(value: unknown, method: string, field: string, where: string): void {
  const isThere = isObject(value) && typeof (value as Record<string, unknown>)[method] === 'function';
  if (!isThere) throw invalid(where, field, show(value), `an object with a method ${method}`);
}

/** Throws where the first argument is no dispatcher. */
export function checkDispatcher(dispatcher: unknown, where: string): void {
  const isOne = typeof dispatcher === 'object' && dispatcher !== null && INSIDE in dispatcher;
  if (!isOne) throw invalid(where, 'dispatcher', show(dispatcher), 'what createDispatcher returns');
}

/** What adapters may ask of a dispatcher beyond its public face. */
export function insideOf(dispatcher: Dispatcher): Inside {
  return (dispatcher as unknown as { readonly [INSIDE]: () => Inside })[INSIDE]();
}

/** The run that a dispatcher's calls belong to unless they name another. */
export function ownRunOf(dispatcher: Dispatcher): string | undefined {
  return (dispatcher as { readonly [OWN_RUN]?: () => string | undefined })[OWN_RUN]?.();
}

export function invalid(where: string, field: string, found: unknown, expected: string): InvalidCall {
  return new InvalidCall(`${where}: ${field}: expected ${expected}, found ${String(found)}`, { downstream: '' });
}

/** Where the calls of a client's, or of a server's, tools go. */
export interface Routes {
  /** The rule for a tool; undefined where it passes no gate on purpose. Throws `InvalidCall` where it has none. */
  readonly of: (tool: string) => Mapped | undefined;
  /** Throws `InvalidCall` with every tool that has no rule; with `isAll`, with every rule that has no tool too. */
  readonly check: (tools: readonly string[], isAll?: boolean) => void;
}

/**
 * Reads where calls go: exactly one of `downstream`, for all tools, and `downstreams`, by tool. A map is not
 * checked here, so that all that is wrong with it is told at once.
 *
 * @throws {InvalidCall} for none or both of them.
 * @throws {UnknownDownstream} where the one downstream is.
 */
export function readRoutes(
  dispatcher: Dispatcher,
  options: { readonly downstream?: string | undefined; readonly downstreams?: ToolMap | undefined },
  where: string,
): Routes {
  const { downstream, downstreams } = options;
  if ((downstream === undefined) === (downstreams === undefined)) {
    const found = downstream === undefined ? 'neither' : 'both';
    throw invalid(where, 'downstream, downstreams', found, 'one of them: a downstream for all tools, or a map by tool');
  }
  if (downstreams === undefined) {
    const name = downstream as string;
    dispatcher.require([name]);
    return { of: () => ({ downstream: name, context: {} }), check: () => undefined };
  }
  const rules = Object.keys(downstreams);
  const check: Routes['check'] = (tools, isAll) => {
    const known = knownOf(dispatcher, downstreams);
    checkToolMap(downstreams, isAll === true ? tools : [...tools, ...rules], known, where);
  };
  return {
    of: (tool) => {
      const mapped = mappedOf(downstreams, tool);
      if (mapped === undefined) check([tool]);
      return mapped;
    },
    check,
  };
}

/** The names that a dispatcher knows. A double for tests gets to know those that it is asked to require. */
function knownOf(dispatcher: Dispatcher, map: ToolMap): string[] {
  const asked = Object.keys(map).flatMap((tool) => mappedOf(map, tool)?.downstream ?? []);
  try {
    dispatcher.require(asked);
  } catch {
    // Told with all that is wrong with the map.
  }
  return dispatcher.names();
}
