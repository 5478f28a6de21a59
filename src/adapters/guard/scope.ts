import { AsyncLocalStorage } from 'node:async_hooks';
import type { WatchedCall } from '../../base/inside.ts';
import type { DownstreamPlan } from '../../base/plan.ts';

/** A call that runs, in the async context of all that it begins. */
export class Held {
  readonly call: WatchedCall;
  /** Whose it is: two dispatchers may be watched in one process. */
  readonly owner: object;
  /** The call around it. */
  outer: Held | undefined;
  /** Requests to hosts of its downstream. */
  requests = 0;
  /** It stands for one request to whatever host: a gate has said that it is of this call. */
  isRouted = false;
  /** Answers that sent it to another address: each is followed by a request that no retry is. */
  redirects = 0;

  constructor(call: WatchedCall, owner: object, outer: Held | undefined) {
    this.call = call;
    this.owner = owner;
    this.outer = outer;
  }
}

// One for all watchers: on Node 20 every AsyncLocalStorage makes every promise a little slower.
let storage: AsyncLocalStorage<Held> | undefined;
let users = 0;

/** From here on calls can be entered. */
export function open(): void {
  users++;
  storage ??= new AsyncLocalStorage();
}

/** Of the last one: promises cost what they did before. */
export function close(): void {
  if (--users > 0) return;
  storage?.disable();
  storage = undefined;
}

/** The innermost call in whose async context this runs. */
export function current(): Held | undefined {
  return storage?.getStore();
}

/** Runs `fn` in the async context of a call; everything else in the context stays as it is. */
export function within<C extends WatchedCall>(owner: object, call: C, fn: (call: C) => unknown): unknown {
  if (storage === undefined) return fn(call);
  return storage.run(new Held(call, owner, unsettled(storage.getStore())), fn, call);
}

/** Runs `fn` in an async context in which one request, to whatever host, is of the call around it. */
export function routing<T>(owner: object, fn: (held: Held | undefined) => T): T {
  let outer = storage?.getStore();
  while (outer !== undefined && outer.owner !== owner) outer = outer.outer;
  if (storage === undefined || outer === undefined) return fn(undefined);
  const held = new Held(outer.call, owner, storage.getStore());
  held.isRouted = true;
  return storage.run(held, fn, held);
}

/** Stands for no call: what is begun within it is meant to pass no gate. */
const ALLOWED: WatchedCall = {
  costs: [],
  plan: { name: '' } as DownstreamPlan,
  state: 'running',
  host: { account: undefined },
};

/** Runs `fn` in an async context whose requests are meant to pass no gate. */
export function allowing<T>(owner: object, fn: () => T): T {
  if (storage === undefined) return fn();
  return storage.run(new Held(ALLOWED, owner, unsettled(storage.getStore())), fn);
}

export function isAllowed(from: Held | undefined, owner: object): boolean {
  for (let held = from; held !== undefined; held = held.outer) {
    if (held.call === ALLOWED && held.owner === owner) return true;
  }
  return false;
}

/** The innermost call of a downstream that has not settled. */
export function heldOf(from: Held | undefined, owner: object, downstream: string): Held | undefined {
  for (let held = from; held !== undefined; held = held.outer) {
    const { call, isRouted } = held;
    if (held.owner !== owner || call.state === 'settled') continue;
    if (isRouted ? held.requests <= held.redirects : call.plan.name === downstream) return held;
  }
  return undefined;
}

/** What counts the requests of one call, from within outwards. */
export function* ofOneCall(from: Held): IterableIterator<Held> {
  for (let held: Held | undefined = from; held?.call === from.call; held = held.outer) yield held;
}

/** Whether a call of a downstream began this and has settled since. */
export function hasEnded(from: Held | undefined, owner: object, downstream: string): boolean {
  for (let held = from; held !== undefined; held = held.outer) {
    if (held.owner === owner && held.call.plan.name === downstream) return true;
  }
  return false;
}

/** Calls that begin one another without end must not keep all those before them: what has settled is left out. */
function unsettled(from: Held | undefined): Held | undefined {
  let first = from;
  while (first !== undefined && first.call.state === 'settled') first = first.outer;
  for (let held = first; held !== undefined; held = held.outer) {
    while (held.outer !== undefined && held.outer.call.state === 'settled') held.outer = held.outer.outer;
  }
  return first;
}
