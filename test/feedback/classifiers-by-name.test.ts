import { expect, test } from 'vitest';
import { PolicyError } from '../../src/base/errors.ts';
import { createDispatcher, type DispatcherOptions } from '../../src/dispatcher.ts';
import { ManualClock } from '../../src/testing.ts';

const QUIET = { alertSinks: [], env: {} };

/** What became of a value that a call returned. */
async function outcomeOf(name: string, policy: object, value: unknown, options: DispatcherOptions = {}) {
  const clock = new ManualClock();
  const { callDownstream, snapshot } = createDispatcher(
    { downstreams: { [name]: policy } },
    { ...QUIET, ...options, clock },
  );
  expect(await callDownstream(name, () => value)).toBe(value);
  const { settled } = snapshot().downstreams[0]?.totals ?? {};
  return Object.entries(settled ?? {}).find(([, count]) => count > 0)?.[0];
}

const tool = { isError: true, content: [{ type: 'text', text: 'Too many requests' }] };
const body = { errors: [{ extensions: { code: 'THROTTLED' } }] };
const batch = { UnprocessedItems: { orders: [{}] } };

test.each([
  ['graphql', body],
  ['mcpToolResult', tool],
  ['awsPartial', batch],
])('%s is known by its name, without code', async (classify, value) => {
  expect(await outcomeOf('api', {}, value)).toBe('success');
  expect(await outcomeOf('api', { classify }, value)).toBe('throttled');
});

test('one that is passed under the same name wins', async () => {
  const classify = { graphql: () => ({ outcome: 'exhausted' as const }) };
  expect(await outcomeOf('api', { classify: 'graphql' }, body, { classify })).toBe('exhausted');
});

test('a downstream that happens to be called graphql has not named one', async () => {
  expect(await outcomeOf('graphql', {}, body)).toBe('success');
});

test.each(['grahpql', 'jsonBody', 'constructor', '__proto__'])('%s is no ready-made one', (classify) => {
  const make = () =>
    createDispatcher({ downstreams: { api: { classify } } }, { ...QUIET, classify: { own: () => undefined } });
  expect(make).toThrow(PolicyError);
  expect(make).toThrow('known: own, graphql, mcpToolResult, awsPartial');
});
