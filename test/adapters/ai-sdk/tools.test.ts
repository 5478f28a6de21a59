import { dynamicTool, generateText, jsonSchema, stepCountIs, type ToolExecutionOptions, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { gateTool, gateTools, isRefusal } from '../../../src/adapters/ai-sdk.ts';
import { type AdmissionError, type CallContext, createDispatcher, InvalidCall } from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';
import { until } from '../support/carrier-server.ts';
import { calling, saying, toolResults } from './model.ts';

const OPTIONS: ToolExecutionOptions = { toolCallId: 'call-1', messages: [] };
const TOO_MANY = Object.assign(new Error('Too Many Requests'), { status: 429, headers: { 'retry-after': '7' } });

function rig(policy: object = { maxConcurrent: 1 }) {
  const clock = new ManualClock();
  const downstreams = { carrier: policy, web: {} };
  return { clock, dispatcher: createDispatcher({ downstreams }, { clock, alertSinks: [], env: {} }) };
}

const echo = () => tool({ inputSchema: z.object({ id: z.string() }), execute: ({ id }) => ({ id }) });

describe('tools and their types', () => {
  test('generateText infers what it infers without the gate', async () => {
    const { dispatcher } = rig();
    const tools = gateTools(dispatcher, { echo: echo() }, { downstreams: { echo: 'carrier' } });
    const model = new MockLanguageModelV3({ doGenerate: [saying('hello')] });
    const { text, toolResults: results } = await generateText({ model, tools, prompt: 'go' });
    expect(text).toBe('hello');
    for (const result of results) {
      if (!result.dynamic) expectTypeOf(result.output).toEqualTypeOf<{ id: string }>();
    }
    // @ts-expect-error: no such downstream
    expect(() => gateTools(dispatcher, { echo: echo() }, { downstreams: { echo: 'carier' } })).toThrow(InvalidCall);
    // @ts-expect-error: no such tool
    expect(() => gateTools(dispatcher, { echo: echo() }, { downstreams: { echoo: 'web' } })).toThrow('2 problems');
  });

  test('what has no execute is passed on as it is and needs no rule', () => {
    const { dispatcher } = rig();
    const ask = tool({ inputSchema: z.object({}), outputSchema: z.string() });
    const hosted = { type: 'provider' as const, id: 'x.search' as const, args: {}, inputSchema: jsonSchema({}) };
    const gated = gateTools(dispatcher, { ask, hosted, echo: echo() }, { downstreams: { echo: 'carrier' } });
    expect(gated.ask).toBe(ask);
    expect(gated.hosted).toBe(hosted);
    expect(gateTool(dispatcher, 'carrier', ask)).toBe(ask);
  });

  test('false is no gate; the tools that were handed in are not changed', () => {
    const { dispatcher } = rig();
    const mine = { echo: echo(), other: dynamicTool({ inputSchema: jsonSchema({}), execute: async () => 'x' }) };
    const before = { ...mine.echo };
    const gated = gateTools(dispatcher, mine, { downstreams: { echo: 'carrier', other: false } });
    expect(gated.other).toBe(mine.other);
    expect({ ...mine.echo }).toEqual(before);
    expect(Object.keys(gated.echo)).toEqual(Object.keys(mine.echo));
  });

  test('a tool of a class keeps its prototype and its private fields', async () => {
    const { dispatcher } = rig();
    class Status {
      readonly #secret = 'k-1';
      execute(_input: unknown, _options?: unknown) {
        return this.#secret;
      }
    }
    const gated = gateTool(dispatcher, 'carrier', new Status());
    expect(gated).toBeInstanceOf(Status);
    expect(await gated.execute({}, OPTIONS)).toBe('k-1');
  });
});

describe('what a call is told and tells', () => {
  test.each(['experimental_context', 'context'])(
    'deadline, run, class and account from %s; the tool has its name',
    async (field) => {
      const { dispatcher, clock } = rig();
      const seen: CallContext[] = [];
      const spy = {
        ...dispatcher,
        callDownstream: (name: 'carrier', fn: never, ctx: CallContext) => {
          seen.push(ctx);
          return dispatcher.callDownstream(name, fn, ctx);
        },
      } as unknown as typeof dispatcher;
      const { signal } = new AbortController();
      const gated = gateTools(
        spy,
        { echo: echo() },
        {
          downstreams: { echo: { downstream: 'carrier', priority: 'batch', cost: 1 } },
        },
      );
      const deadline = clock.wallNow() + 30_000;
      const context = { deadline, runId: 'run-7', priority: 'interactive', account: 'acme', user: 'Ada' };
      await gated.echo.execute!({ id: '1' }, { ...OPTIONS, abortSignal: signal, [field]: context });
      expect(seen).toEqual([
        { deadline, runId: 'run-7', priority: 'batch', account: 'acme', cost: 1, tool: 'echo', signal },
      ]);
    },
  );

  test('the context function comes last: its fields win, the earliest deadline and any signal count', async () => {
    const { dispatcher, clock } = rig();
    const asked: unknown[] = [];
    const dropped = new AbortController();
    const gated = gateTools(
      dispatcher,
      { echo: echo() },
      {
        downstreams: { echo: 'carrier' },
        context: (call) => {
          asked.push([call.tool, call.input, call.context]);
          return { runId: 'mine', signal: dropped.signal, deadline: clock.wallNow() + 60_000 };
        },
      },
    );
    const context = { deadline: clock.wallNow() - 1, runId: 'theirs' };
    const late = await gated.echo.execute!({ id: '1' }, { ...OPTIONS, experimental_context: context });
    expect(asked).toEqual([['echo', { id: '1' }, context]]);
    expect(late).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED' } });
    dropped.abort(new Error('dropped'));
    await expect(gated.echo.execute!({ id: '1' }, OPTIONS)).rejects.toThrow('dropped');
  });

  test('what a context function throws is its own; a promise is none', async () => {
    const { dispatcher } = rig();
    const gated = (context: () => never) => gateTool(dispatcher, 'carrier', echo(), { context, onRefused: 'throw' });
    const boom = () => {
      throw new Error('boom');
    };
    await expect(gated(boom).execute!({ id: '1' }, OPTIONS)).rejects.toThrow('boom');
    const later = (async () => ({})) as unknown as () => never;
    await expect(gated(later).execute!({ id: '1' }, OPTIONS)).rejects.toThrow('found one that returns a promise');
  });

  test('the tool gets a signal that fires at the deadline', async () => {
    const { dispatcher, clock } = rig();
    let signal: AbortSignal | undefined;
    const hanging = tool({
      inputSchema: z.object({}),
      execute: (_input, options) => {
        signal = options.abortSignal;
        return new Promise(() => undefined);
      },
    });
    const gated = gateTool(dispatcher, 'carrier', hanging);
    const answer = gated.execute!({}, { ...OPTIONS, experimental_context: { deadline: clock.wallNow() + 1_000 } });
    await clock.advance(1_000);
    expect(await answer).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED', retryable: false } });
    expect(signal?.aborted).toBe(true);
  });
});

describe('what comes back', () => {
  const throwing = (error: unknown) =>
    tool({ inputSchema: z.object({}), execute: async (): Promise<string> => Promise.reject(error) });

  test('a 429 that the tool throws is a refusal with its time, or the exception where that is wished', async () => {
    const { dispatcher } = rig();
    expect(await gateTool(dispatcher, 'carrier', throwing(TOO_MANY)).execute!({}, OPTIONS)).toMatchObject({
      error: { code: 'RATE_LIMITED', downstream: 'carrier', retryable: true, retry_after_ms: 7_000 },
    });
    const loud = gateTool(rig().dispatcher, 'carrier', throwing(TOO_MANY), { onRefused: 'throw' });
    await expect(loud.execute!({}, OPTIONS)).rejects.toBe(TOO_MANY);
  });

  test('another error is thrown as it is', async () => {
    const error = new Error('boom');
    await expect(gateTool(rig().dispatcher, 'carrier', throwing(error)).execute!({}, OPTIONS)).rejects.toBe(error);
  });

  test('a 429 that the tool returns is its answer; the lane has read it', async () => {
    const { dispatcher } = rig();
    const answer = { status: 429, headers: { 'retry-after': '7' } };
    const gated = gateTool(dispatcher, 'carrier', { execute: async (_input: unknown, _options?: unknown) => answer });
    expect(await gated.execute({}, OPTIONS)).toBe(answer);
    expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ totals: { settled: { throttled: 1 } } });
  });

  test('an abort by a gate further out is an abort, not a refusal', async () => {
    const { dispatcher } = rig();
    const reason = await dispatcher
      .callDownstream('carrier', () => undefined, { deadline: new ManualClock().wallNow() - 1 })
      .catch((error: AdmissionError) => error);
    const gated = gateTool(dispatcher, 'carrier', echo());
    const { signal } = (() => {
      const abort = new AbortController();
      abort.abort(reason);
      return abort;
    })();
    await expect(gated.execute!({ id: '1' }, { ...OPTIONS, abortSignal: signal })).rejects.toBe(reason);
  });

  test('a tool with words of its own for the model does not put a refusal into them', async () => {
    const { dispatcher } = rig();
    const worded = {
      ...throwing(TOO_MANY),
      toModelOutput: ({ output }: { output: string }) => ({ type: 'text' as const, value: output.toUpperCase() }),
    };
    const tools = gateTools(dispatcher, { worded }, { downstreams: { worded: 'carrier' } });
    const model = new MockLanguageModelV3({ doGenerate: [calling('worded'), saying('done')] });
    await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) });
    expect(toolResults(model.doGenerateCalls[1])).toEqual({
      worded: { type: 'json', value: expect.toSatisfy(isRefusal) },
    });
    expect(tools.worded.toModelOutput({ output: 'ok' })).toEqual({ type: 'text', value: 'OK' });
  });

  test('a run that is aborted ends with the reason', async () => {
    const { dispatcher } = rig({ quota: '1/minute', maxWait: '10m' });
    await dispatcher.callDownstream('carrier', () => undefined);
    const tools = gateTools(dispatcher, { wait: throwing(TOO_MANY) }, { downstreams: { '*': 'carrier' } });
    const abort = new AbortController();
    const model = new MockLanguageModelV3({ doGenerate: [calling('wait'), saying('done')] });
    const run = generateText({
      model,
      tools,
      prompt: 'go',
      abortSignal: abort.signal,
      maxRetries: 0,
      stopWhen: stepCountIs(2),
    });
    const ended = run.catch(() => undefined);
    await until(() => dispatcher.snapshot().downstreams[0]?.queued === 1);
    abort.abort(new Error('closed'));
    await ended;
    expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ queued: 0, totals: { aborted: 1 } });
  });
});

describe('options that cannot be read', () => {
  const { dispatcher } = rig();
  const tools = { echo: echo() };
  const gate = (options: object, by: unknown = dispatcher) =>
    gateTools(by as typeof dispatcher, tools, { downstreams: { '*': 'web' }, ...options });

  test.each([
    [{ onRefused: 'retrun' }, `onRefused: expected 'return' or 'throw', found "retrun"`],
    [{ leaseUntil: 'body' }, `leaseUntil: expected 'end' or 'first', found "body"`],
    [{ context: {} }, 'context: expected a function, found an object'],
    [{ onRefuse: 'throw' }, 'onRefuse: no such option; did you mean onRefused?'],
    [{ streams: ['ecko'] }, 'streams: expected a list of names of tools that have an execute, found a list'],
    [{ downstreams: undefined }, 'downstreams: expected a map from tool to downstream, found undefined'],
    [{ downstreams: { echo: 'wep' } }, '"echo": unknown downstream "wep"; did you mean "web"?'],
  ])('%j', (options, message) => {
    expect(() => gate(options)).toThrow(message);
  });

  test('no dispatcher, no options, no tools', () => {
    expect(() => gate({}, {})).toThrow(
      'gateTools: dispatcher: expected what createDispatcher returns, found an object',
    );
    expect(() => gateTools(dispatcher, tools, undefined as never)).toThrow(
      'options: expected an object, found undefined',
    );
    expect(() => gateTools(dispatcher, undefined as never, { downstreams: {} })).toThrow(
      'gateTools: tools: expected an object of tools, found undefined',
    );
    expect(() => gateTool(dispatcher, 'wep' as 'web', echo())).toThrow('did you mean "web"?');
  });
});
