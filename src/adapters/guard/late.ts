import { current, type Held } from './scope.ts';

/** Whose a request is, where the async context in which it was told may be somebody else's. */
export type Whose =
  | { readonly kind: 'known'; readonly held: Held | undefined }
  /** It was queued, or sent on, by the HTTP client itself. */
  | { readonly kind: 'queued' | 'redirect' | 'retry' };

const HANDLER = 'handler';
/** The frame that tells lies below what undici does between its own queue and the request. */
const DEPTH = 30;

/** What stands nearest to the request in the stack says how it came about. */
const SIGNS =
  /\b(?:(?<own>fetching|httpNetworkFetch)|(?<retry>RetryHandler)|(?<redirect>RedirectHandler)|(?<queued>onDrain|emitDrain|Parser\.on))/;

let handlerKey: symbol | undefined;

/**
 * undici tells of a request that had to wait for a connection of a limited pool, was redirected or tried again by
 * an interceptor from the connection's own async context, which is that of whoever opened it. `request`,
 * `stream`, `pipeline`, `connect` and `upgrade` hand over an `AsyncResource` of their caller's, which knows better;
 * for a `fetch` only the stack says that the context is not to be believed.
 */
export function whose(request: object): Whose {
  const handler = handlerOf(request);
  if (isResource(handler)) return { kind: 'known', held: handler.runInAsyncScope(current) };
  const { retry, redirect, queued } = signs();
  if (retry !== undefined) return { kind: 'retry' };
  if (redirect !== undefined) return { kind: 'redirect' };
  return queued === undefined ? { kind: 'known', held: current() } : { kind: 'queued' };
}

/** Whether it is told of in the async context of a connection, which is that of whoever opened it. */
export function isLate(): boolean {
  const { retry, redirect, queued } = signs();
  return (retry ?? redirect ?? queued) !== undefined;
}

function signs(): Partial<Record<'retry' | 'redirect' | 'queued', string>> {
  return SIGNS.exec(stackNow())?.groups ?? {};
}

function handlerOf(request: object): unknown {
  const fields = request as Record<symbol, unknown>;
  const known = handlerKey === undefined ? undefined : fields[handlerKey];
  if (known !== undefined) return known;
  // Each copy of undici has a symbol of its own.
  handlerKey = Object.getOwnPropertySymbols(request).find((symbol) => symbol.description === HANDLER);
  return handlerKey === undefined ? undefined : fields[handlerKey];
}

function isResource(value: unknown): value is { readonly runInAsyncScope: <T>(fn: () => T) => T } {
  if (typeof value !== 'object' || value === null) return false;
  return typeof (value as { runInAsyncScope?: unknown }).runInAsyncScope === 'function';
}

function stackNow(): string {
  const { stackTraceLimit } = Error;
  // Where intrinsics are frozen it stays as it is: assigning would throw.
  Reflect.set(Error, 'stackTraceLimit', DEPTH);
  const { stack } = new Error();
  Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  return String(stack);
}
