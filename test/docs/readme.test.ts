import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import * as fetchEntry from '../../src/adapters/fetch.ts';
import { createDispatcher, type Dispatcher, explain } from '../../src/index.ts';
import { ManualClock, refusingDispatcher } from '../../src/testing.ts';
import { TestServer } from '../adapters/support/server.ts';
import { type Carrier, startCarrier } from './support/carrier.ts';
import { runBlock } from './support/example.ts';
import { blockAt, ROOT, read } from './support/pages.ts';

const block = (title: string) => blockAt('README.md', 'ts', title);

let carrier: Carrier;
beforeAll(async () => {
  carrier = await startCarrier();
});
afterAll(() => carrier.close());

/** The package as a block would import it, but on a manual clock and silent. */
function packagesOn(clock: ManualClock): Record<string, object> {
  return {
    penstock: {
      createDispatcher: ((policy: never, options: object) =>
        createDispatcher(policy, { clock, alertSinks: [], env: {}, ...options })) as typeof createDispatcher,
      explain,
    },
  };
}

test('Ten lines that run', async () => {
  const clock = new ManualClock();
  const { printed } = await runBlock(block('Ten lines that run'), { clock, packages: packagesOn(clock) });
  await clock.advance(5_000);
  const prints = blockAt('README.md', 'text', 'Ten lines that run');
  expect(printed.join('\n')).toBe(prints.code);
});

test('In the runtime you have: the real client, two attempts, two permits', async () => {
  const server = await TestServer.start((_, response) => {
    const isFirst = server.arrived.length === 1;
    response.writeHead(isFirst ? 429 : 200, { 'content-type': 'application/json', 'retry-after-ms': '1' });
    response.end(JSON.stringify({ object: 'list', data: [] }));
  });
  onTestFinished(() => server.close());
  let dispatcher: Dispatcher<'model'> | undefined;
  const packages = {
    penstock: {
      createDispatcher: ({ downstreams }: { downstreams: { model: object } }) => {
        const policy = { downstreams: { model: { ...downstreams.model, hosts: [server.host] } } };
        dispatcher = createDispatcher(policy, { alertSinks: [], env: {} });
        return dispatcher;
      },
    },
    'penstock/fetch': fetchEntry,
    openai: {
      default: class extends OpenAI {
        constructor(options: ConstructorParameters<typeof OpenAI>[0]) {
          super({ apiKey: 'key', baseURL: server.url, ...options });
        }
      },
    },
  };
  const { exports } = await runBlock<{ openai: OpenAI }>(block('In the runtime you have'), { packages });
  expect((await exports.openai.models.list()).data).toEqual([]);
  expect(dispatcher?.snapshot().downstreams[0]?.totals).toMatchObject({ started: 2, throttled: 1 });
  await dispatcher?.close();
});

test('the versions that it names are the versions that the tests run', () => {
  const { devDependencies, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
    'devDependencies' | 'dependencies',
    Record<string, string>
  >;
  const pages = ['README.md', 'docs/agents.md', 'docs/mcp.md'].map((page) => read(page).replaceAll('`', '')).join('\n');
  const versions: Record<string, string> = { ...devDependencies, ...dependencies };
  const named = [...pages.matchAll(/(@?[a-z][\w-]*(?:\/[\w-]+)?) (\d+\.\d+\.\d+)\b/g)].filter(
    ([, name = '']) => name in versions,
  );
  expect(named.length).toBeGreaterThanOrEqual(10);
  for (const [, name = '', version] of named) expect([name, version]).toEqual([name, versions[name]]);
});

test('In your tools: the policy that ships, a real server, a deadline', async () => {
  const given = { id: 'T-1', runId: 'r-1', fetch: carrier.fetch };
  const { exports } = await runBlock<{ status: Response; callDownstream: Dispatcher['callDownstream'] }>(
    block('In your tools'),
    { given },
  );
  expect(exports.status.status).toBe(200);
  expect(await exports.status.json()).toEqual({ id: 'T-1', state: 'on its way' });
  expect(carrier.paths).toContain('/v1/deliveries/T-1');
  expect(typeof exports.callDownstream).toBe('function');
});

describe('Errors', () => {
  type Tool = { getDeliveryStatus: () => Promise<{ isError?: boolean; content: { text: string }[] }> };

  async function tool(callDownstream: unknown): Promise<Tool['getDeliveryStatus']> {
    const given = { id: 'T-2', callDownstream, fetch: carrier.fetch };
    return (await runBlock<Tool>(block('Errors'), { given })).exports.getDeliveryStatus;
  }
  const open = () => createDispatcher({ downstreams: { carrier: {} } }, { alertSinks: [], env: {} });

  test('an answer is an answer', async () => {
    const { isError, content } = await (await tool(open().callDownstream))();
    expect([isError, JSON.parse(content[0]?.text ?? '')]).toEqual([undefined, { id: 'T-2', state: 'on its way' }]);
  });

  test('what is no answer is told in words, the 429 of the service included, and the lane learns of it', async () => {
    const { callDownstream, snapshot } = open();
    const ask = await tool(callDownstream);
    carrier.answerNext({ status: 404 });
    expect(await ask()).toMatchObject({ isError: true, content: [{ text: /failed with status 404/ }] });
    carrier.answerNext({ status: 429, headers: { 'retry-after': '7' } });
    expect(await ask()).toMatchObject({ isError: true, content: [{ text: /Try again in 7 s/ }] });
    expect(snapshot().downstreams[0]?.holds).toMatchObject([{ cause: 'retry-after' }]);
  });

  test('a refusal is told in words', async () => {
    const ask = await tool(refusingDispatcher('RATE_LIMITED', { retryAfterMs: 60_000 }).callDownstream);
    expect(await ask()).toMatchObject({ isError: true, content: [{ text: /carrier: refused/ }] });
  });
});

describe('Names that the compiler checks', () => {
  const run = async (downstreams: readonly string[]) =>
    (
      await runBlock<{ dispatcher: Dispatcher }>(block('Names that the compiler checks'), {
        packages: { './downstreams.js': { downstreams } },
      })
    ).exports.dispatcher;

  test('the names of the file that ships are all there', async () => {
    expect((await run(['carrier', 'search'])).names()).toContain('carrier');
  });

  test('one that the file of today lacks ends the start', async () => {
    await expect(run(['carrier', 'partner'])).rejects.toMatchObject({ code: 'UNKNOWN_DOWNSTREAM' });
  });
});

test('How to test your own tools: the doubles', async () => {
  await runBlock(block('How to test your own tools'));
});

test('How to test your own tools: a manual clock and a fake downstream', async () => {
  await runBlock(block('How to test your own tools #2'));
});
