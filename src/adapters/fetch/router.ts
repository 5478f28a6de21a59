import { InvalidCall } from '../../base/errors.ts';
import { authorityOf, HOST_ACCOUNT } from '../../base/hosts.ts';
import type { Inside } from '../../base/inside.ts';
import { show } from '../../base/text.ts';
import type { Dispatcher } from '../../contract.ts';
import type { CallContext } from '../../dispatch/context.ts';
import { hostIndexOf, type Place } from '../support/hosts.ts';
import { mergedContext } from './headers.ts';
import type { HttpSettings } from './options.ts';

/** Where a request goes: a downstream, and the account whose lane it takes where that is a host's. */
export interface Route {
  readonly downstream: string;
  readonly account?: string;
}

/** Finds the lane of a request; undefined where it passes no gate. */
export type Router = (place: Place, said: unknown) => Route | undefined;

/**
 * The router of one dispatcher.
 *
 * @throws {InvalidCall} where two downstreams claim one host, and where none claims any and nothing else says whose a request is.
 */
export function createRouter(dispatcher: Dispatcher, inside: Inside, settings: HttpSettings, where: string): Router {
  const index = hostIndexOf(inside, where);
  if (settings.isByHostsAlone && ![...inside.plans().values()].some(({ hosts = [] }) => hosts.length > 0)) {
    const message = `${where}: no downstream has hosts, so no request would pass a gate. Write hosts: [api.example.com] at the downstreams, give a lookup, or say unknownHosts: 'pass' where hosts come later.`;
    throw new InvalidCall(message, { downstream: '' });
  }
  const { unknownHosts, hostLanes } = settings;
  return (place, said) => {
    if (said === false) return undefined;
    if (typeof said === 'string') return { downstream: said };
    if (said !== undefined && said !== null) {
      const message = `${where}: lookup: expected the name of a downstream, false or undefined, found ${show(said)}`;
      throw new InvalidCall(message, { downstream: '' });
    }
    const downstream = index().find(place);
    if (downstream !== undefined) return { downstream };
    if (unknownHosts === 'pass') return undefined;
    const authority = authorityOf(place);
    if (unknownHosts === 'refuse') throw unclaimed(authority, where);
    // A policy that came later may not know it.
    if (!inside.plans().has(hostLanes)) dispatcher.register(hostLanes, {});
    return { downstream: hostLanes, account: `${HOST_ACCOUNT}${authority}` };
  };
}

function unclaimed(authority: string, where: string): InvalidCall {
  const message = `${where}: refused, no downstream claims ${authority}. Write hosts: [${show(authority)}] at the downstream that it belongs to, or let unknownHosts be pass or lane-per-host.`;
  return new InvalidCall(message, { downstream: '' });
}

/**
 * Whether a downstream refuses anything now. Where it only observes, what is wrong with a request is no reason to
 * keep it from running.
 */
function isEnforced(dispatcher: Dispatcher, downstream: string): boolean {
  const found = dispatcher.snapshot().downstreams.find((each) => each.downstream === downstream);
  return found === undefined || found.mode === 'enforce';
}

/** What a request says of its call; where it says it wrongly and nothing is enforced, nothing but the signal. */
export function soundContext(
  dispatcher: Dispatcher,
  { downstream, account }: Route,
  signal: AbortSignal | undefined,
  read: () => readonly (CallContext | undefined)[],
): CallContext {
  // The account of a host's lane is the host: any other would be a lane that nobody can bound.
  const fixed = { signal, account };
  try {
    return mergedContext(...read(), fixed);
  } catch (error) {
    if (isEnforced(dispatcher, downstream)) throw error;
    return mergedContext(fixed);
  }
}

/**
 * Refuses a request without a `User-Agent` where the downstream requires one.
 *
 * @throws {InvalidCall} with the policy's reason.
 */
export function checkUserAgent(
  dispatcher: Dispatcher,
  inside: Inside,
  { downstream }: Route,
  has: boolean,
  where: string,
): void {
  const reason = has ? undefined : inside.plans().get(downstream)?.requiresUserAgent;
  if (reason === undefined || !isEnforced(dispatcher, downstream)) return;
  const message = `${downstream}: refused, the request has no User-Agent: ${reason}. Set the header, or the option userAgent of ${where}.`;
  throw new InvalidCall(message, { downstream });
}
