import { InvalidCall } from '../../base/errors.ts';
import { INSIDE, type Inside } from '../../base/inside.ts';
import { show } from '../../base/text.ts';
import type { Dispatcher } from '../../contract.ts';

/**
 * What a dispatcher tells adapters of itself; `where` is the function that was given it.
 *
 * @throws {InvalidCall} where it is no dispatcher.
 */
export function insideOf<Name extends string>(dispatcher: Dispatcher<Name>, where: string): Inside {
  const inside = (dispatcher as { readonly [INSIDE]?: () => Inside } | null | undefined)?.[INSIDE];
  if (inside !== undefined) return inside();
  const message = `${where}: dispatcher: expected what createDispatcher returns, found ${show(dispatcher)}`;
  throw new InvalidCall(message, { downstream: '' });
}

/** Sends a request as `lookup` has said: whose it is follows from that, and not from its host. */
export function routed<T>({ watching }: Inside, said: string | false | null | undefined, send: () => T): T {
  if (watching.watcher === undefined || said === undefined || said === null) return send();
  return watching.watcher.routed(said !== false, send);
}
