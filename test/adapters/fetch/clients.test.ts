import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createFetch, type FetchOptions } from '../../../src/adapters/fetch.ts';
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherEvent,
  type DownstreamPolicyInput,
  explain,
  isAdmissionError,
  type PolicyInput,
} from '../../../src/index.ts';
import { TestServer } from '../support/server.ts';

let server: TestServer;
const made: Dispatcher[] = [];
beforeAll(async () => {
  server = await TestServer.start();
});
afterEach(async () => {
  await Promise.all(made.splice(0).map((dispatcher) => dispatcher.close({ within: 0 })));
});
afterAll(() => server.close());

const ANSWERS = {
  openai: {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }],
  },
  anthropic: { id: 'm', type: 'message', role: 'assistant', content: [{ type: 'text', text: 'hi' }] },
};

function rig(policy: DownstreamPolicyInput = {}, options: FetchOptions = {}) {
  const model = { hosts: [server.host], ...policy };
  const dispatcher = createDispatcher<PolicyInput>({ downstreams: { model } }, { alertSinks: [], env: {} });
  made.push(dispatcher);
  const events: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => events.push(event));
  const gated = createFetch(dispatcher, options);
  // Their retries are what they are by default.
  const common = { apiKey: 'key', baseURL: server.url, logLevel: 'off', fetch: gated } as const;
  const openai = new OpenAI({ ...common, organization: null, project: null, webhookSecret: null });
  const anthropic = new Anthropic({ ...common, authToken: null, webhookKey: null });
  const messages = [{ role: 'user' as const, content: 'hello' }];
  const ask = {
    openai: (more: OpenAI.RequestOptions = {}) => openai.chat.completions.create({ model: 'm', messages }, more),
    anthropic: (more: Anthropic.RequestOptions = {}) =>
      anthropic.messages.create({ model: 'm', messages, max_tokens: 8 }, more),
  };
  const count = (type: string) => events.filter((event) => event.type === type).length;
  return { dispatcher, events, ask, count, openai, anthropic };
}

/** Refuses the first requests, as many as there are headers, and tells when each may come back. */
function throttles(client: 'openai' | 'anthropic', refusals: readonly Readonly<Record<string, string>>[]) {
  const refusedAt: number[] = [];
  server.answers((request, response, count) => {
    const headers = refusals[count - 1];
    response.setHeader('content-type', 'application/json');
    if (headers === undefined) {
      response.end(JSON.stringify(ANSWERS[client]));
      return;
    }
    refusedAt.push(request.at);
    response.writeHead(429, headers);
    response.end(JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } }));
  });
  return refusedAt;
}

/** Timers may ring a moment early, and a server looks at its clock later than at its socket. */
const TOLERATED_MS = 15;

describe.each(['openai', 'anthropic'] as const)('%s, its retries on', (client) => {
  test.each([
    ['Retry-After', { 'retry-after': '1' }, 1_000],
    ['retry-after-ms', { 'retry-after-ms': '1300' }, 1_300],
    ['a reset that the client does not read', { 'ratelimit-remaining': '0', 'ratelimit-reset': '2' }, 2_000],
    ['no time at all: our cooldown, longer than its back-off', {}, 1_400],
  ])('%s: every attempt has a permit, none comes before its time', async (_, headers, waitMs) => {
    const { ask, count } = rig({ cooldown: { base: '1400ms' }, warm: { spacing: 0 } });
    const refusedAt = throttles(client, [headers, headers]);
    await Promise.all([ask[client](), ask[client](), ask[client]()]);
    const permits = count('started');
    expect(permits).toBe(server.arrived.length);
    expect(refusedAt.length).toBe(2);
    for (const at of refusedAt) {
      // Those that were under way when it was said cannot know.
      const early = server.arrived.filter((other) => other.at > at + 100 && other.at < at + waitMs - TOLERATED_MS);
      expect(early).toEqual([]);
    }
  });

  test('a time that its own timer cannot hold: one request, then refusals that name it', async () => {
    const { ask, count } = rig({ maxHold: '365d' });
    throttles(client, [{ 'retry-after': '2592000' }]);
    const error = await ask[client]().then(
      () => undefined,
      (reason) => reason,
    );
    expect([server.arrived.length, count('started')]).toEqual([1, 1]);
    expect(isAdmissionError(error.cause)).toBe(true);
    expect(error.cause).toMatchObject({ code: 'RATE_LIMITED', downstream: 'model' });
    expect(explain(error)).toEqual(explain(error.cause));
  }, 20_000);

  test('headers say what is known of the call', async () => {
    const { ask, events } = rig();
    throttles(client, []);
    await ask[client]({ headers: { 'x-penstock-tool': 'summarise', 'x-penstock-run-id': 'job7' } });
    expect(events.filter(({ type }) => type === 'started')).toMatchObject([{ tool: 'summarise', runId: 'job7' }]);
    expect(Object.keys(server.arrived[0]?.headers ?? {}).filter((name) => name.startsWith('x-penstock'))).toEqual([]);
  });

  test('the signal of a call ends its wait', async () => {
    const { ask, dispatcher, count } = rig();
    throttles(client, []);
    dispatcher.pause('model', { for: '1m' });
    const abort = new AbortController();
    const answer = ask[client]({ signal: abort.signal }).catch((error: Error) => error.constructor.name);
    while (count('queued') === 0) await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    expect(await answer).toBe('APIUserAbortError');
    expect([server.arrived.length, count('aborted')]).toEqual([0, 1]);
  });

  test('its own timeout counts the wait', async () => {
    const { ask, dispatcher } = rig();
    throttles(client, []);
    dispatcher.pause('model', { for: '1m' });
    const answer = ask[client]({ timeout: 50, maxRetries: 0 }).catch((error: Error) => error.constructor.name);
    expect(await answer).toBe('APIConnectionTimeoutError');
    expect(server.arrived).toEqual([]);
  });
});

describe('streams', () => {
  test('with leaseUntil: body an answer that streams keeps its place to its end', async () => {
    const { openai, dispatcher } = rig({ maxConcurrent: 1 }, { leaseUntil: 'body' });
    server.answers((_, response) => {
      response.setHeader('content-type', 'text/event-stream');
      const part = { choices: [{ index: 0, delta: { content: 'a' } }] };
      response.write(`data: ${JSON.stringify(part)}\n\n`);
      setTimeout(() => response.end('data: [DONE]\n\n'), 30);
    });
    const running = () => dispatcher.snapshot().downstreams[0]?.running;
    const body = { model: 'm', messages: [{ role: 'user' as const, content: 'hello' }], stream: true as const };
    const stream = await openai.chat.completions.create(body);
    expect(running()).toBe(1);
    const texts: unknown[] = [];
    for await (const { choices } of stream) texts.push(choices[0]?.delta.content);
    await new Promise((resolve) => setImmediate(resolve));
    expect([texts, running()]).toEqual([['a'], 0]);
    for await (const _ of await openai.chat.completions.create(body)) break;
    while (running() !== 0) await new Promise((resolve) => setImmediate(resolve));
  });
});
