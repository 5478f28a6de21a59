import * as z from 'zod';
import { noteOf } from './fields.ts';
import { downstreamSchema, policySchema } from './schema.ts';
import { bare } from './shape.ts';

/** One row of the options table. */
export interface OptionRow {
  readonly option: string;
  readonly default: string;
  readonly meaning: string;
}

/** Every option of a downstream in the order of the schema, for tables in documents. */
export function describeOptions(): OptionRow[] {
  return Object.entries(downstreamSchema.shape).map(([option, schema]) => {
    const note = noteOf(bare(schema));
    return { option, default: note?.default ?? 'none', meaning: note?.meaning ?? '' };
  });
}

/** The JSON Schema (draft-07) of a policy file, for editors: the shape, not the rules that span options. */
export function policyJsonSchema(): object {
  const { $schema, ...rest } = z.toJSONSchema(policySchema, { target: 'draft-07', io: 'input' });
  return { $schema, title: 'Penstock policy', ...rest };
}
