import type { CallContext } from './context.ts';

/** A context that applies to all calls made through one dispatcher, with the signals of every `with` on the way. */
export interface Scope {
  readonly context: CallContext | undefined;
  readonly signals: readonly AbortSignal[];
}

export const NO_SCOPE: Scope = { context: undefined, signals: [] };

/** Earliest deadline, any signal, later names win; a field that is undefined changes nothing. */
export function scopeWithin(outer: Scope, context: CallContext): Scope {
  const { signal, ...rest } = context;
  return {
    context: mergeContexts(outer.context, rest),
    signals: signal === undefined ? outer.signals : [...outer.signals, signal],
  };
}

export function mergeContexts(outer: CallContext | undefined, inner: CallContext | undefined): CallContext | undefined {
  if (outer === undefined) return inner;
  if (inner === undefined) return outer;
  const stated = Object.entries(inner).filter(([, value]) => value !== undefined);
  const merged = { ...outer, ...Object.fromEntries(stated) } as CallContext;
  if (outer.deadline === undefined || inner.deadline === undefined) return merged;
  // One that is no instant is left in, for the lane to refuse with the reason.
  const isOuter =
    !isInstant(outer.deadline) || (isInstant(inner.deadline) && Number(outer.deadline) < Number(inner.deadline));
  return isOuter ? { ...merged, deadline: outer.deadline } : merged;
}

function isInstant(deadline: unknown): boolean {
  const at = deadline instanceof Date ? deadline.getTime() : deadline;
  return typeof at === 'number' && !Number.isNaN(at);
}
