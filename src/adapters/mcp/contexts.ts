import { InvalidCall } from '../../base/errors.ts';
import { show } from '../../base/text.ts';
import type { CallContext, WaitReport } from '../../dispatch/context.ts';

/** Two contexts of one call as one: the earlier deadline, both listeners of the wait, else the later where it says something. */
export function merged(first: CallContext, later: CallContext | undefined): CallContext {
  if (later === undefined) return first;
  checkContext(later);
  const stated = Object.fromEntries(Object.entries(later).filter(([, value]) => value !== undefined)) as CallContext;
  const both: CallContext = { ...first, ...stated };
  const deadline = earlier(first.deadline, stated.deadline);
  const onWait = together(first.onWait, stated.onWait);
  return { ...both, ...(deadline === undefined ? {} : { deadline }), ...(onWait === undefined ? {} : { onWait }) };
}

/** One that is no instant is left in, for the lane to refuse with the reason. */
function earlier(a: CallContext['deadline'], b: CallContext['deadline']): CallContext['deadline'] {
  if (a === undefined || b === undefined) return a ?? b;
  if (Number.isNaN(Number(a)) || Number.isNaN(Number(b))) return Number.isNaN(Number(a)) ? a : b;
  return Number(a) < Number(b) ? a : b;
}

function together(a: CallContext['onWait'], b: CallContext['onWait']): CallContext['onWait'] {
  if (typeof a !== 'function' || typeof b !== 'function') return b ?? a;
  return (wait: WaitReport) => {
    a(wait);
    b(wait);
  };
}

/** An async `context` would be none at all, and nobody would notice. */
function checkContext(context: unknown): void {
  const isObject = typeof context === 'object' && context !== null && !Array.isArray(context);
  if (isObject && typeof (context as { readonly then?: unknown }).then !== 'function') return;
  const found = isObject ? 'a promise' : show(context);
  throw new InvalidCall(`context: expected an object at once, found ${found}`, { downstream: '' });
}
