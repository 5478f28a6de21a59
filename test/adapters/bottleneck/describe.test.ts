import { expect, test } from 'vitest';
import { describePolicy } from '../../../src/policy/describe.ts';
import { resolvePolicy } from '../../../src/policy/resolve.ts';

const described = (policy: object) => describePolicy(resolvePolicy({ downstreams: { carrier: policy } }))[0]!;

test('check says that Bottleneck hands out the turns, and how far a window is kept', () => {
  const { sentence, warnings } = described({ quota: '60/minute', engine: 'bottleneck' });
  expect(sentence).toContain('never more than 60 in any minute');
  expect(sentence).toContain('Bottleneck hands out the turns');
  expect(warnings).toEqual([]);
  expect(described({ quota: '60/minute' }).sentence).not.toContain('Bottleneck');
});

test('check warns of several quotas: one of them is paced', () => {
  const { warnings } = described({ quota: ['60/minute', '500/day'], utilization: 0.9, engine: 'bottleneck' });
  expect(warnings.filter((warning) => warning.startsWith('engine: bottleneck paces one of'))).toHaveLength(1);
});
