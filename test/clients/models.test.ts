import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROWS, SUCCESSES } from './support/answers.ts';
import { exhausted, FAILED, hand, overloaded, type Reading, SUCCESS, throttled } from './support/lane.ts';
import { type Answer, LocalServer } from './support/local-server.ts';
import { expectNoSockets } from './support/open-sockets.ts';

let server: LocalServer;
let openai: OpenAI;
let anthropic: Anthropic;
beforeAll(async () => {
  server = await LocalServer.start();
  // Everything is passed, so that nothing is taken from the environment.
  const common = { apiKey: 'key', baseURL: server.url, maxRetries: 0, logLevel: 'off' } as const;
  openai = new OpenAI({ ...common, organization: null, project: null, webhookSecret: null });
  anthropic = new Anthropic({ ...common, authToken: null, webhookKey: null });
});
afterAll(async () => {
  await server.close();
  await expectNoSockets();
});

const asked = { model: 'm', messages: [{ role: 'user', content: 'hello' }] } as const;
const complete = () => openai.chat.completions.create({ ...asked, messages: [...asked.messages] });
const message = () => anthropic.messages.create({ ...asked, messages: [...asked.messages], max_tokens: 8 });

async function openaiStream(): Promise<string> {
  let text = '';
  for await (const part of await openai.chat.completions.create({
    ...asked,
    messages: [...asked.messages],
    stream: true,
  }))
    text += part.choices[0]?.delta.content ?? '';
  return text;
}

async function anthropicStream(): Promise<string> {
  let text = '';
  for await (const { type } of await anthropic.messages.create({
    ...asked,
    messages: [...asked.messages],
    max_tokens: 8,
    stream: true,
  }))
    text += type;
  return text;
}

const OPENAI_ERRORS: Readonly<Record<number, { readonly type: string; readonly code: string | null }>> = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  429: { type: 'requests', code: 'rate_limit_exceeded' },
  500: { type: 'server_error', code: null },
  503: { type: 'server_error', code: null },
};

const ANTHROPIC_ERRORS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

function openaiBody(status: number, more: object = {}): object {
  const { type, code } = OPENAI_ERRORS[status] ?? { type: 'invalid_request_error', code: null };
  return { error: { message: 'slow down', type, code, param: null, ...more } };
}

function anthropicBody(type: string): object {
  return { type: 'error', error: { type, message: 'slow down' }, request_id: 'req_1' };
}

/** Server-sent events, each with a type or none. */
function events(...all: readonly (readonly [type: string | undefined, data: unknown])[]): Answer {
  const texts = all.map(
    ([type, data]) => `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`,
  );
  return { status: 200, headers: { 'Content-Type': 'text/event-stream' }, body: texts.join('') };
}

async function expectRead(answer: Answer, reading: Reading, call: () => Promise<unknown>): Promise<void> {
  server.answers(answer);
  await hand(reading, call, { how: answer.status === 200 && reading === SUCCESS ? 'returned' : 'thrown' });
  expect(server.requests).toBe(1);
}

describe('openai', () => {
  test.each(ROWS.map((row) => [row.name, row] as const))('%s', async (_, { answer, reading }) => {
    await expectRead({ ...answer, body: openaiBody(answer.status) }, reading, complete);
  });

  test('429 with text for a body', async () => {
    const answer = { status: 429, headers: { 'Retry-After': '7' }, body: 'Too Many Requests, slow down' };
    await expectRead(answer, throttled(7_000), complete);
  });

  test('429 for tokens per minute', async () => {
    const body = openaiBody(429, { type: 'tokens' });
    await expectRead({ status: 429, headers: { 'Retry-After': '7' }, body }, throttled(7_000), complete);
  });

  test.each(['insufficient_quota', 'billing_hard_limit_reached'])(
    '429 %s is nothing that seconds cure',
    async (code) => {
      await expectRead({ status: 429, body: openaiBody(429, { type: code, code }) }, exhausted(), complete);
    },
  );

  test('a success of which only the parsed body is left', async () => {
    const body = { id: 'c', object: 'chat.completion', choices: [] };
    await expectRead({ ...SUCCESSES[0]!.answer, body }, SUCCESS, complete);
  });

  test('a success as a response', async () => {
    server.answers({ ...SUCCESSES[0]!.answer, body: { id: 'c' } });
    const response = await hand(SUCCESS, () => complete().asResponse(), { how: 'returned' });
    expect(await (response as Response).json()).toEqual({ id: 'c' });
  });

  test('an error event in a stream that began with 200', async () => {
    const begun = { id: 'c', choices: [{ index: 0, delta: { content: 'Hel' } }] };
    const { error } = openaiBody(429) as { error: object };
    await expectRead(events([undefined, begun], [undefined, { error }]), throttled(), openaiStream);
  });

  test.each([
    ['insufficient_quota', exhausted()],
    ['server_error', FAILED],
  ])('an error event %s in a stream', async (code, reading) => {
    await expectRead(events([undefined, openaiBody(429, { type: code, code })]), reading, openaiStream);
  });

  test('a stream that ends well', async () => {
    const part = { id: 'c', choices: [{ index: 0, delta: { content: 'Hello' } }] };
    await expectRead(events([undefined, part]), SUCCESS, openaiStream);
  });
});

describe('@anthropic-ai/sdk', () => {
  test.each(ROWS.map((row) => [row.name, row] as const))('%s', async (_, { answer, reading }) => {
    const body = anthropicBody(ANTHROPIC_ERRORS[answer.status] ?? 'api_error');
    await expectRead({ ...answer, body }, reading, message);
  });

  test('a success of which only the parsed body is left', async () => {
    const body = { id: 'msg', type: 'message', role: 'assistant', content: [] };
    await expectRead({ ...SUCCESSES[0]!.answer, body }, SUCCESS, message);
  });

  test.each([
    ['rate_limit_error', throttled()],
    ['overloaded_error', overloaded()],
    ['api_error', FAILED],
    ['invalid_request_error', FAILED],
  ])('an error event %s in a stream that began with 200', async (type, reading) => {
    await expectRead(events(['error', anthropicBody(type)]), reading, anthropicStream);
  });

  test('an error event after the first words', async () => {
    const begun = { type: 'message_start', message: { id: 'msg', content: [], usage: {} } };
    await expectRead(
      events(['message_start', begun], ['error', anthropicBody('rate_limit_error')]),
      throttled(),
      anthropicStream,
    );
  });
});
