import { stepCountIs, streamText, type ToolExecutionOptions, tool } from 'ai';
import { convertArrayToReadableStream, MockLanguageModelV3 } from 'ai/test';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { gateTool, gateTools } from '../../../src/adapters/ai-sdk.ts';
import { createDispatcher } from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';
import { toolResults, USAGE } from './model.ts';

const OPTIONS: ToolExecutionOptions = { toolCallId: 'call-1', messages: [] };

function rig(policy: object = { maxConcurrent: 1 }) {
  const clock = new ManualClock();
  const dispatcher = createDispatcher({ downstreams: { carrier: policy } }, { clock, alertSinks: [], env: {} });
  const lane = () => dispatcher.snapshot().downstreams[0]!;
  return { clock, dispatcher, lane };
}

/** Yields parts until it is told to stop; knows whether it was cleaned up. */
function source() {
  const state = { isClosed: false, error: undefined as unknown };
  async function* execute(_input: unknown, _options?: unknown) {
    try {
      yield 'one';
      yield 'two';
      if (state.error !== undefined) throw state.error;
      yield 'three';
    } finally {
      state.isClosed = true;
    }
  }
  return { state, execute };
}

type Stream = AsyncGenerator<unknown>;
const opened = (gated: { execute: unknown }, options = OPTIONS) =>
  (gated.execute as (input: unknown, options: unknown) => Stream)({}, options);
const all = async (stream: Stream) => {
  const values: unknown[] = [];
  for await (const value of stream) values.push(value);
  return values;
};

describe('a tool that yields preliminary results', () => {
  test('through the SDK: each is passed on as it comes, the last one is the answer', async () => {
    const { dispatcher } = rig();
    const follow = tool({
      inputSchema: z.object({}),
      async *execute() {
        yield 'on its way';
        yield 'delivered';
      },
    });
    const tools = gateTools(dispatcher, { follow }, { downstreams: { follow: 'carrier' } });
    const model = new MockLanguageModelV3({
      doStream: [
        {
          stream: convertArrayToReadableStream([
            { type: 'tool-call', toolCallId: 'call-1', toolName: 'follow', input: '{}' },
            { type: 'finish', finishReason: { unified: 'tool-calls', raw: undefined }, usage: USAGE },
          ]),
        },
        {
          stream: convertArrayToReadableStream([
            { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage: USAGE },
          ]),
        },
      ],
    });
    const { fullStream } = streamText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) });
    const results: unknown[] = [];
    for await (const part of fullStream) {
      if (part.type === 'tool-result') results.push([part.output, part.preliminary ?? false]);
    }
    expect(results).toEqual([
      ['on its way', true],
      ['delivered', true],
      ['delivered', false],
    ]);
    expect(toolResults(model.doStreamCalls[1])).toEqual({ follow: { type: 'text', value: 'delivered' } });
  });

  test('keeps its lease to its end', async () => {
    const { dispatcher, lane } = rig();
    const stream = opened(gateTool(dispatcher, 'carrier', { execute: source().execute }));
    expect(lane().running).toBe(0);
    expect(await stream.next()).toEqual({ done: false, value: 'one' });
    expect(lane().running).toBe(1);
    expect(await all(stream)).toEqual(['two', 'three']);
    expect(lane()).toMatchObject({ running: 0, totals: { settled: { success: 1 } } });
  });

  test('whoever stops early ends it, then the lease', async () => {
    const { dispatcher, lane } = rig();
    const { state, execute } = source();
    const stream = opened(gateTool(dispatcher, 'carrier', { execute }));
    await stream.next();
    await stream.return(undefined);
    expect([state.isClosed, lane().running]).toEqual([true, 0]);
  });

  test('a 429 in its midst is read by the lane and is its last word; another error is thrown', async () => {
    const { dispatcher, lane } = rig();
    const { state, execute } = source();
    const gated = gateTool(dispatcher, 'carrier', { execute });
    state.error = new Error('boom');
    await expect(all(opened(gated))).rejects.toBe(state.error);
    state.error = Object.assign(new Error('Too Many Requests'), { status: 429, headers: { 'retry-after': '7' } });
    expect(await all(opened(gated))).toEqual([
      'one',
      'two',
      { error: expect.objectContaining({ code: 'RATE_LIMITED', downstream: 'carrier', retry_after_ms: 7_000 }) },
    ]);
    expect(lane()).toMatchObject({ totals: { settled: { failed: 1, throttled: 1 } } });
  });

  test('refused before it has begun, the refusal is all that it yields', async () => {
    const { dispatcher, clock } = rig();
    const gated = gateTool(dispatcher, 'carrier', { execute: source().execute }, { tool: 'follow' });
    const late = { ...OPTIONS, experimental_context: { deadline: clock.wallNow() - 1 } };
    expect(await all(opened(gated, late))).toEqual([
      { error: expect.objectContaining({ code: 'DEADLINE_EXCEEDED', downstream: 'carrier' }) },
    ]);
  });

  test('an abort rejects with its reason, though the tool does not listen', async () => {
    const { dispatcher } = rig();
    const abort = new AbortController();
    const gated = gateTool(dispatcher, 'carrier', {
      async *execute(_input: unknown, _options?: unknown) {
        yield 'one';
        await new Promise(() => undefined);
      },
    });
    const stream = opened(gated, { ...OPTIONS, abortSignal: abort.signal });
    await stream.next();
    const next = stream.next();
    abort.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
  });

  test('leaseUntil first: the place is free once it has begun', async () => {
    const { dispatcher, lane } = rig();
    const { state, execute } = source();
    const stream = opened(gateTool(dispatcher, 'carrier', { execute }, { leaseUntil: 'first' }));
    expect((await stream.next()).value).toBe('one');
    expect(lane().running).toBe(0);
    expect((await stream.next()).value).toBe('two');
    await stream.return(undefined);
    expect(state.isClosed).toBe(true);
  });

  test('gated twice it is still a stream', async () => {
    const { dispatcher } = rig({ maxConcurrent: 2 });
    const once = gateTool(dispatcher, 'carrier', { execute: source().execute });
    expect(await all(opened(gateTool(dispatcher, 'carrier', once)))).toEqual(['one', 'two', 'three']);
  });
});

describe('a function that returns a stream without being a generator function', () => {
  const returning = { execute: (_input: unknown, _options?: unknown) => source().execute({}) };

  test('is one where that is said', async () => {
    const { dispatcher } = rig();
    expect(await all(opened(gateTool(dispatcher, 'carrier', returning, { streams: true })))).toEqual([
      'one',
      'two',
      'three',
    ]);
  });

  test('else gives its last value, as the SDK would have kept it', async () => {
    const { dispatcher, lane } = rig();
    const gated = gateTool(dispatcher, 'carrier', returning);
    expect(await gated.execute({}, OPTIONS)).toBe('three');
    expect(lane().running).toBe(0);
  });
});
