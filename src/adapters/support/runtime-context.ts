import { PRIORITIES } from '../../base/words.ts';
import type { CallContext } from '../../dispatch/context.ts';

/** What an adapter reads from a runtime's own context object: these fields of it, or of its field `penstock`. */
export type RuntimeContext = Pick<CallContext, 'deadline' | 'runId' | 'priority' | 'account'>;

const FIELDS = ['deadline', 'runId', 'priority', 'account'] as const;

/** What a field looks like where it is meant for the gate. */
const MEANT: Readonly<Record<(typeof FIELDS)[number], (value: unknown) => boolean>> = {
  deadline: (value) => typeof value === 'number' || value instanceof Date,
  runId: (value) => typeof value === 'string',
  priority: (value) => (PRIORITIES as readonly unknown[]).includes(value),
  account: (value) => typeof value === 'string',
};

/**
 * The deadline, run, class and account that a runtime's own context object (`experimental_context`, `configurable`,
 * `runContext.context`, `_meta`) names: in its field `penstock` where it has one, else beside whatever else it holds.
 * Beside other things a value of another type is the program's own (`account: { id: 7 }`) and is left alone; within
 * `penstock` everything is taken as it is, and the lane refuses what it cannot read, with the reason.
 */
export function readRuntimeContext(context: unknown): RuntimeContext {
  if (typeof context !== 'object' || context === null) return {};
  const own = (context as { readonly penstock?: unknown }).penstock;
  const isOwn = typeof own === 'object' && own !== null;
  const source = (isOwn ? own : context) as Readonly<Record<string, unknown>>;
  const found = FIELDS.map((field) => [field, source[field]] as const).filter(
    ([field, value]) => value !== undefined && (isOwn || MEANT[field](value)),
  );
  return Object.fromEntries(found) as RuntimeContext;
}
