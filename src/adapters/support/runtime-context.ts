import type { CallContext } from '../../dispatch/context.ts';

/** What an adapter reads from a runtime's own context object: these fields of it, or of its field `penstock`. */
export type RuntimeContext = Pick<CallContext, 'deadline' | 'runId' | 'priority' | 'account'>;

const FIELDS = ['deadline', 'runId', 'priority', 'account'] as const;

/**
 * The deadline, run, class and account that a runtime's own context object (`experimental_context`, `configurable`,
 * `runContext.context`, `_meta`) names: in its field `penstock` where it has one, else beside whatever else it holds.
 */
export function readRuntimeContext(context: unknown): RuntimeContext {
  if (typeof context !== 'object' || context === null) return {};
  const own = (context as { readonly penstock?: unknown }).penstock;
  const source = (typeof own === 'object' && own !== null ? own : context) as Readonly<Record<string, unknown>>;
  const found = FIELDS.filter((field) => source[field] !== undefined).map((field) => [field, source[field]]);
  return Object.fromEntries(found) as RuntimeContext;
}
