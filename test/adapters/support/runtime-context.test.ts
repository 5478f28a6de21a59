import { expect, test } from 'vitest';
import { readRuntimeContext } from '../../../src/adapters/support/runtime-context.ts';

test('four fields are read beside whatever else is there', () => {
  const context = { deadline: 1_800_000_000_000, runId: 'run-7', priority: 'batch', account: 'acme', userName: 'Ada' };
  const { userName: _, ...ours } = context;
  expect(readRuntimeContext(context)).toEqual(ours);
});

test("what has their names and another type is the program's own", () => {
  expect(readRuntimeContext({ deadline: 'Friday', runId: 7, priority: 'high', account: { id: 7 } })).toEqual({});
});

test('a field `penstock` holds them alone, and is taken as it is', () => {
  const context = { account: 'business', penstock: { runId: 'run-7', priority: 'high' } };
  expect(readRuntimeContext(context)).toEqual({ runId: 'run-7', priority: 'high' });
});

test.each([undefined, null, 'text', 7, {}])('nothing is read of %s', (context) => {
  expect(readRuntimeContext(context)).toEqual({});
});
