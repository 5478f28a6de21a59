import { expectTypeOf, test } from 'vitest';
import type * as z from 'zod';
import type { DownstreamPolicyInput, PolicyInput, QuotaInput } from '../../src/policy/input.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';
import type { downstreamSchema } from '../../src/policy/schema.ts';

type Schema = z.input<typeof downstreamSchema>;

test('the types people read name the options that the schema knows', () => {
  expectTypeOf<keyof DownstreamPolicyInput>().toEqualTypeOf<keyof Schema>();
  expectTypeOf<Schema>().toExtend<DownstreamPolicyInput>();
  expectTypeOf<Exclude<Schema['quota'], undefined>>().toExtend<QuotaInput | readonly QuotaInput[]>();
});

test('an object written in place, as const, is a policy', () => {
  const policy = {
    downstreams: {
      carrier: { quota: ['60/minute', { limit: 9, per: '1s' }], throttleStatuses: [429, 403] },
      mail: { leaseGrace: 'never', owner: undefined },
    },
  } as const satisfies PolicyInput;
  resolvePolicy(policy);
});
