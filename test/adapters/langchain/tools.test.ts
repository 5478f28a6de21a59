import { AIMessage } from '@langchain/core/messages';
import { RunnableLambda } from '@langchain/core/runnables';
import { DynamicStructuredTool, StructuredTool, ToolInputParsingException, tool } from '@langchain/core/tools';
import { createAgent, createMiddleware } from 'langchain';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { gateTool, gateToolCalls, gateTools } from '../../../src/adapters/langchain.ts';
import { type CallContext, createDispatcher } from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';
import { calling, ScriptedChatModel, toolMessages } from './model.ts';

const TOO_MANY = Object.assign(new Error('Too Many Requests'), { status: 429, headers: { 'retry-after': '7' } });
const REFUSED = {
  error: expect.objectContaining({ code: 'RATE_LIMITED', downstream: 'carrier', retry_after_ms: 7_000 }),
};
const schema = z.object({ id: z.string() });
const CALL = { name: 'status', args: { id: 'T-1' }, id: 'call-1', type: 'tool_call' as const };

function rig(policy: object = { maxConcurrent: 1 }) {
  const clock = new ManualClock();
  const dispatcher = createDispatcher({ downstreams: { carrier: policy } }, { clock, alertSinks: [], env: {} });
  const lane = () => dispatcher.snapshot().downstreams[0]!;
  return { clock, dispatcher, lane };
}

const failing = (error: unknown = TOO_MANY, extra: { responseFormat?: string } = {}) =>
  tool(async (): Promise<string> => Promise.reject(error), { name: 'status', schema, ...extra });

describe('a tool stays what it is', () => {
  test('class, name, schema and what is changed on it later', async () => {
    const { dispatcher } = rig();
    const status = tool(({ id }) => `${id} is delivered`, { name: 'status', description: 'where it is', schema });
    const gated = gateTool(dispatcher, 'carrier', status);
    expect(gated).toBeInstanceOf(DynamicStructuredTool);
    expect([gated.name, gated.description, gated.schema, gated.lc_namespace]).toEqual([
      'status',
      'where it is',
      schema,
      status.lc_namespace,
    ]);
    status.returnDirect = true;
    expect(gated.returnDirect).toBe(true);
    expect(await gated.invoke({ id: 'T-1' })).toBe('T-1 is delivered');
    expect(await gated.invoke(CALL)).toMatchObject({
      content: 'T-1 is delivered',
      tool_call_id: 'call-1',
      name: 'status',
    });
  });

  test('a class of the program, its private fields included', async () => {
    const { dispatcher, lane } = rig();
    class Status extends StructuredTool<typeof schema> {
      readonly name = 'status';
      readonly description = 'where it is';
      readonly schema = schema;
      readonly #secret = 'k-1';
      protected override async _call({ id }: z.infer<typeof schema>) {
        return `${id} ${this.#secret}`;
      }
    }
    expect(await gateTool(dispatcher, 'carrier', new Status()).invoke({ id: 'T-1' })).toBe('T-1 k-1');
    expect(lane().totals.started).toBe(1);
  });

  test('a runnable that is used as a tool', async () => {
    const { dispatcher, lane } = rig();
    const like = RunnableLambda.from(({ id }: { id: string }) => `${id} is delivered`).asTool({
      name: 'status',
      schema,
    });
    expect(await gateTool(dispatcher, 'carrier', like).invoke({ id: 'T-1' })).toBe('T-1 is delivered');
    expect(lane().totals.started).toBe(1);
  });

  test('a tool of the provider passes as it is; input that is wrong never comes to the gate', async () => {
    const { dispatcher, lane } = rig();
    const hosted = { type: 'web_search' };
    const [kept, status] = gateTools(dispatcher, [hosted, failing()], { downstreams: { status: 'carrier' } });
    expect(kept).toBe(hosted);
    await expect(status.invoke({ id: 7 } as never)).rejects.toThrow(ToolInputParsingException);
    expect(lane().totals.calls).toBe(0);
  });

  test('the map is checked', () => {
    const { dispatcher } = rig();
    const wrong = { downstreams: { stats: 'carier' as 'carrier' } };
    expect(() => gateTools(dispatcher, [failing()], wrong)).toThrow('gateTools: 3 problems');
    expect(() => gateToolCalls(dispatcher, [failing()], wrong)).toThrow('gateToolCalls: 3 problems');
    expect(() => gateTools(dispatcher, {} as never, wrong)).toThrow('tools: expected a list of tools, found an object');
  });
});

describe('what a call is told', () => {
  async function contextOf(config: object): Promise<CallContext> {
    const { dispatcher } = rig();
    let seen: CallContext = {};
    const spy = {
      ...dispatcher,
      callDownstream: (name: 'carrier', fn: never, ctx: CallContext) => {
        seen = ctx;
        return dispatcher.callDownstream(name, fn, ctx);
      },
    } as unknown as typeof dispatcher;
    await gateTool(
      spy,
      'carrier',
      tool(() => 'ok', { name: 'status', schema }),
    ).invoke({ id: 'T-1' }, config);
    return seen;
  }

  test('from configurable and context; a thread is a run that nobody has named', async () => {
    const { signal } = new AbortController();
    const deadline = new ManualClock().wallNow() + 30_000;
    expect(await contextOf({ configurable: { thread_id: 'thread-1', deadline }, signal })).toMatchObject({
      tool: 'status',
      runId: 'thread-1',
      deadline,
    });
    expect(await contextOf({ configurable: { thread_id: 'thread-1', runId: 'run-7' } })).toMatchObject({
      runId: 'run-7',
    });
    expect(await contextOf({ configurable: { runId: 'run-7' }, context: { runId: 'run-8' } })).toMatchObject({
      runId: 'run-8',
    });
  });

  test('the tool gets a signal that fires at the deadline; a run that is aborted is no refusal', async () => {
    const { dispatcher, clock } = rig();
    let signal: AbortSignal | undefined;
    const hanging = tool(
      (_input, config) => {
        signal = config.signal;
        return new Promise<string>(() => undefined);
      },
      { name: 'status', schema },
    );
    const gated = gateTool(dispatcher, 'carrier', hanging);
    const answer = gated.invoke({ id: 'T-1' }, { configurable: { deadline: clock.wallNow() + 1_000 } });
    await clock.advance(1_000);
    expect(await answer).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED', retryable: false } });
    expect(signal?.aborted).toBe(true);
    const abort = new AbortController();
    const dropped = gated.invoke({ id: 'T-1' }, { signal: abort.signal });
    abort.abort(new Error('dropped'));
    await expect(dropped).rejects.toThrow('dropped');
  });
});

describe('what comes back', () => {
  test('a refusal, as content and as the text of a message', async () => {
    const { dispatcher } = rig();
    const gated = gateTool(dispatcher, 'carrier', failing());
    expect(await gated.invoke({ id: 'T-1' })).toEqual(REFUSED);
  });

  test('beside an artifact, where the tool has one', async () => {
    const { dispatcher } = rig();
    const gated = gateTool(dispatcher, 'carrier', failing(TOO_MANY, { responseFormat: 'content_and_artifact' }));
    const message = await gated.invoke(CALL);
    expect(JSON.parse(String(message.content))).toEqual(REFUSED);
    expect(message).toMatchObject({ tool_call_id: 'call-1', name: 'status', artifact: undefined });
  });

  test('the exception where that is wished, and any other error', async () => {
    const { dispatcher } = rig();
    const boom = new Error('boom');
    await expect(gateTool(dispatcher, 'carrier', failing(boom)).invoke({ id: 'T-1' })).rejects.toBe(boom);
    const loud = gateTool(dispatcher, 'carrier', failing(), { onRefused: 'throw' });
    await expect(loud.invoke({ id: 'T-1' })).rejects.toBe(TOO_MANY);
  });

  test('a generator keeps its lease to its end; a 429 in its midst is its answer', async () => {
    const { dispatcher, lane } = rig();
    const running: number[] = [];
    let error: unknown;
    const follow = tool(
      async function* () {
        yield 'on its way';
        running.push(lane().running);
        if (error !== undefined) throw error;
        return 'delivered';
      },
      { name: 'status', schema },
    );
    const gated = gateTool(dispatcher, 'carrier', follow);
    expect(await gated.invoke({ id: 'T-1' })).toBe('delivered');
    error = TOO_MANY;
    expect(await gated.invoke({ id: 'T-1' })).toEqual(REFUSED);
    expect([running, lane().running, lane().totals.settled.throttled]).toEqual([[1, 1], 0, 1]);
  });
});

test('a tool that the map of a middleware does not name is refused, false passes', async () => {
  const { dispatcher, lane } = rig();
  const tools = ['known', 'free', 'strange'].map((name) => tool(() => `${name} ran`, { name, schema: z.object({}) }));
  const wrapToolCall = gateToolCalls(dispatcher, tools.slice(0, 2), { downstreams: { known: 'carrier', free: false } });
  const model = new ScriptedChatModel(calling('known', 'free', 'strange'), new AIMessage('done'));
  const agent = createAgent({ model, tools, middleware: [createMiddleware({ name: 'penstock', wrapToolCall })] });
  await agent.invoke({ messages: [{ role: 'user', content: 'go' }] });
  expect(toolMessages(model.asked[1]!)).toMatchObject({
    known: { content: 'known ran' },
    free: { content: 'free ran' },
    strange: {
      content:
        '{"error":{"code":"INVALID_CALL","downstream":"","retryable":false,"message":"\\"strange\\": no downstream is written for this tool, so it was not called."}}',
    },
  });
  expect(lane().totals.calls).toBe(1);
});
