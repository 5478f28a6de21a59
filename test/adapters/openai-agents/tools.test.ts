import { Agent, type RunContext, run, setTracingDisabled, tool, webSearchTool } from '@openai/agents';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createFetch } from '../../../src/adapters/fetch.ts';
import { gateToolFunction, gateTools } from '../../../src/adapters/openai-agents.ts';
import { createDispatcher } from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';
import { until } from '../support/carrier-server.ts';
import { answerTo } from './model.ts';

setTracingDisabled(true);

const TOO_MANY = Object.assign(new Error('Too Many Requests'), { status: 429, headers: { 'retry-after': '7' } });
const REFUSED = {
  error: expect.objectContaining({ code: 'RATE_LIMITED', downstream: 'carrier', retry_after_ms: 7_000 }),
};

function rig(policy: object = { maxConcurrent: 1 }) {
  const clock = new ManualClock();
  const dispatcher = createDispatcher({ downstreams: { carrier: policy } }, { clock, alertSinks: [], env: {} });
  const lane = () => dispatcher.snapshot().downstreams[0]!;
  return { clock, dispatcher, lane };
}

const calling = () =>
  new ScriptedModel([[functionCall('status', { id: 'T-1' }, { callId: 'call-1' })], [assistantMessage('done')]]);

const failing = (error: unknown) => ({
  name: 'status',
  description: 'where it is',
  parameters: z.object({ id: z.string() }),
  execute: async ({ id }: { id: string }): Promise<string> => Promise.reject(id === '' ? id : error),
});

describe('a gated tool()', () => {
  const DOWNSTREAMS = { downstreams: { status: 'carrier' } } as const;

  test('types are inferred as without the gate; deadline and run come from the context of the run', async () => {
    const { dispatcher, clock, lane } = rig();
    const gatedTool = gateToolFunction(dispatcher, tool, DOWNSTREAMS);
    const status = gatedTool({
      name: 'status',
      description: 'where it is',
      parameters: z.object({ id: z.string() }),
      execute: async ({ id }, context?: RunContext<{ runId: string }>) => `${id.trim()} in ${context?.context.runId}`,
    });
    const model = calling();
    const context = { runId: 'run-7', deadline: clock.wallNow() + 1_000 };
    await run(new Agent<{ runId: string }>({ name: 'clerk', model, tools: [status] }), 'go', { context });
    expect(answerTo(model, 'status')).toBe('T-1 in run-7');
    expect(lane().top.runs).toMatchObject([{ name: 'run-7' }]);
    const late = calling();
    await run(new Agent<{ runId: string }>({ name: 'clerk', model: late, tools: [status] }), 'go', {
      context: { runId: 'run-8', deadline: clock.wallNow() - 1 } as { runId: string },
    });
    expect(JSON.parse(answerTo(late, 'status'))).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED' } });
  });

  test('a 429 reaches the lane and the model; another error is for the runtime', async () => {
    const { dispatcher, lane } = rig();
    const gatedTool = gateToolFunction(dispatcher, tool, DOWNSTREAMS);
    const throttled = calling();
    await run(new Agent({ name: 'clerk', model: throttled, tools: [gatedTool(failing(TOO_MANY))] }), 'go');
    expect(JSON.parse(answerTo(throttled, 'status'))).toEqual(REFUSED);
    expect(lane().totals.settled.throttled).toBe(1);
    const broken = calling();
    const boom = gateToolFunction(rig().dispatcher, tool, DOWNSTREAMS)(failing(new Error('boom')));
    await run(new Agent({ name: 'clerk', model: broken, tools: [boom] }), 'go');
    expect(answerTo(broken, 'status')).toBe('An error occurred while running the tool. Please try again.');
  });

  test('onRefused throw: the exception is what an errorFunction gets', async () => {
    const { dispatcher } = rig();
    const gatedTool = gateToolFunction(dispatcher, tool, { ...DOWNSTREAMS, onRefused: 'throw' });
    const errors: unknown[] = [];
    const loud = gatedTool({ ...failing(TOO_MANY), errorFunction: (_context, error) => String(errors.push(error)) });
    await run(new Agent({ name: 'clerk', model: calling(), tools: [loud] }), 'go');
    expect(errors).toEqual([TOO_MANY]);
  });

  test("the name of a function is its tool's, where no other is given; a name is looked up as the runtime writes it", async () => {
    const { dispatcher, lane } = rig();
    const gatedTool = gateToolFunction(dispatcher, tool, { downstreams: { status: 'carrier', my_status: 'carrier' } });
    async function status() {
      return 'delivered';
    }
    const made = gatedTool({ description: 'where it is', parameters: z.object({}), execute: status });
    expect(made.name).toBe('status');
    expect(gatedTool({ ...failing(TOO_MANY), name: 'my status' }).name).toBe('my_status');
    const model = new ScriptedModel([[functionCall('status', {}, { callId: 'call-1' })], [assistantMessage('done')]]);
    await run(new Agent({ name: 'clerk', model, tools: [made] }), 'go');
    expect(lane().top.tools).toMatchObject([{ name: 'status' }]);
  });

  test('a tool that may return nothing but its own schema throws its refusal', async () => {
    const { dispatcher } = rig();
    const strict = gateToolFunction(
      dispatcher,
      tool,
      DOWNSTREAMS,
    )({
      ...failing(TOO_MANY),
      outputSchema: z.object({ at: z.string() }),
      execute: async (): Promise<{ at: string }> => Promise.reject(TOO_MANY),
    });
    const running = run(new Agent({ name: 'clerk', model: calling(), tools: [strict] }), 'go');
    await expect(running).rejects.toMatchObject({ error: TOO_MANY });
  });

  test('false is no gate', async () => {
    const { dispatcher, lane } = rig();
    const free = gateToolFunction(dispatcher, tool, { downstreams: { status: false } })(failing(TOO_MANY));
    await run(new Agent({ name: 'clerk', model: calling(), tools: [free] }), 'go');
    expect(lane().totals.calls).toBe(0);
  });

  test('what cannot be read is told: the map at once, a tool without a rule when it is made', () => {
    const { dispatcher } = rig();
    const gate = (options: object, make = tool) => gateToolFunction(dispatcher, make, { ...DOWNSTREAMS, ...options });
    expect(() => gate({ downstreams: { a: 'carier', b: 7 } })).toThrow('gateToolFunction: 2 problems');
    expect(() => gate({ downstreams: undefined })).toThrow('expected a map from tool to downstream, found undefined');
    expect(() => gate({ onRefused: 'no' })).toThrow(`onRefused: expected 'return' or 'throw', found "no"`);
    expect(() => gate({}, {} as typeof tool)).toThrow('tool: expected a function, found an object');
    expect(() => gate({})({ ...failing(TOO_MANY), name: 'stats' })).toThrow(
      '"stats": no downstream; write one, or false for a tool that needs no gate; is "status" meant for it?',
    );
  });
});

describe('finished tools', () => {
  test('hosted ones pass as they are, the others keep what they are', () => {
    const { dispatcher } = rig();
    const hosted = webSearchTool();
    const status = tool(failing(TOO_MANY));
    const [search, gated] = gateTools(dispatcher, [hosted, status], { downstreams: { status: 'carrier' } });
    expect(search).toBe(hosted);
    expect({ ...gated, invoke: undefined }).toEqual({ ...status, invoke: undefined });
    new Agent({ name: 'clerk', tools: [search, gated] });
  });

  test('the map is checked', () => {
    const { dispatcher } = rig();
    const tools = [tool(failing(TOO_MANY))];
    expect(() => gateTools(dispatcher, tools, { downstreams: { stats: 'carier' as 'carrier' } })).toThrow('3 problems');
    expect(() => gateTools(dispatcher, {} as never, { downstreams: {} })).toThrow('tools: expected a list of tools');
  });

  test('wait, deadline and refusal are as before; a 429 that the tool keeps to itself is not seen', async () => {
    const { dispatcher, clock, lane } = rig();
    const [gated] = gateTools(dispatcher, [tool(failing(TOO_MANY))], { downstreams: { status: 'carrier' } });
    const quiet = calling();
    await run(new Agent({ name: 'clerk', model: quiet, tools: [gated!] }), 'go');
    expect(answerTo(quiet, 'status')).toBe('An error occurred while running the tool. Please try again.');
    expect(lane().totals.settled.throttled).toBe(0);
    const late = calling();
    await run(new Agent({ name: 'clerk', model: late, tools: [gated!] }), 'go', {
      context: { deadline: clock.wallNow() - 1 },
    });
    expect(JSON.parse(answerTo(late, 'status'))).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED' } });
  });

  test('those without a gate whose requests pass a gated fetch: the lane learns, at one permit', async () => {
    const { dispatcher, lane } = rig({ maxConcurrent: 1, hosts: ['carrier.example'] });
    const answer = new Response('slow down', { status: 429, headers: { 'retry-after': '7' } });
    const fetch = createFetch(dispatcher, { base: async () => answer });
    const execute = async () => {
      const response = await fetch('https://carrier.example/T-1');
      throw Object.assign(new Error(`carrier: ${response.status}`), { response });
    };
    const free = gateTools(dispatcher, [tool({ ...failing(TOO_MANY), execute })], { downstreams: { status: false } });
    await run(new Agent({ name: 'clerk', model: calling(), tools: free }), 'go');
    expect(lane()).toMatchObject({ totals: { started: 1, throttled: 1 }, holds: [{ cause: 'retry-after' }] });
  });

  test.each([
    ['tool()', true, { id: 'T-1' }],
    ['a finished tool', false, { id: 'T-1', more: 1 }],
  ])('what is asked for approval: %s', async (_, isMade, asked) => {
    const { dispatcher } = rig();
    const seen: unknown[] = [];
    const needsApproval = async (_context: unknown, input: unknown) => seen.push(input) === 0;
    const options = { ...failing(TOO_MANY), needsApproval };
    const status = isMade
      ? gateToolFunction(dispatcher, tool, { downstreams: { status: 'carrier' } })(options)
      : gateTools(dispatcher, [tool(options)], { downstreams: { status: 'carrier' } })[0]!;
    const call = functionCall('status', { id: 'T-1', more: 1 }, { callId: 'call-1' });
    const model = new ScriptedModel([[call], [assistantMessage('done')]]);
    await run(new Agent({ name: 'clerk', model, tools: [status] }), 'go');
    expect(seen).toEqual([asked]);
  });

  test('an abort of the run ends it with the reason, and nothing waits on', async () => {
    const { dispatcher, lane } = rig({ quota: '1/minute', maxWait: '10m' });
    await dispatcher.callDownstream('carrier', () => undefined);
    const gated = gateTools(dispatcher, [tool(failing(TOO_MANY))], { downstreams: { '*': 'carrier' } });
    const abort = new AbortController();
    const running = run(new Agent({ name: 'clerk', model: calling(), tools: gated }), 'go', { signal: abort.signal });
    const ended = expect(running).rejects.toThrow('closed');
    await until(() => lane().queued === 1);
    abort.abort(new Error('closed'));
    await ended;
    expect(lane()).toMatchObject({ queued: 0, totals: { aborted: 1 } });
  });
});

describe("a tool's timeoutMs", () => {
  const makers = {
    'a gated tool()': (dispatcher: ReturnType<typeof rig>['dispatcher'], options: Parameters<typeof tool>[0]) =>
      gateToolFunction(dispatcher, tool, { downstreams: { '*': 'carrier' } })(options),
    'a finished tool': (dispatcher: ReturnType<typeof rig>['dispatcher'], options: Parameters<typeof tool>[0]) =>
      gateTools(dispatcher, [tool(options)], { downstreams: { '*': 'carrier' } })[0]!,
  };

  test.each(Object.entries(makers))('%s that cannot start within it is refused at once', async (_, make) => {
    const { dispatcher, clock } = rig({ quota: '2/minute', utilization: 1, burst: 1 });
    await dispatcher.callDownstream('carrier', () => undefined);
    const status = make(dispatcher, { ...failing(TOO_MANY), timeoutMs: 20_000 });
    const told = async (context: object) => {
      const model = calling();
      await run(new Agent({ name: 'clerk', model, tools: [status] }), 'go', { context });
      return JSON.parse(answerTo(model, 'status'));
    };
    expect(await told({})).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED', retry_after_ms: 9_998 } });
    const sooner = { deadline: clock.wallNow() + 5_000 };
    expect(await told(sooner)).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED', retry_after_ms: 25_000 } });
    expect(await told({ penstock: { deadline: 'soon' } })).toMatchObject({ error: { code: 'INVALID_CALL' } });
  });

  test.each(Object.entries(makers))('%s that runs too long is told of in the words of the runtime', async (_, make) => {
    const { dispatcher } = rig();
    const execute = () => new Promise<string>(() => undefined);
    const status = make(dispatcher, { ...failing(TOO_MANY), execute, timeoutMs: 20 });
    const model = calling();
    await run(new Agent({ name: 'clerk', model, tools: [status] }), 'go');
    expect(answerTo(model, 'status')).toBe("Tool 'status' timed out after 20ms.");
  });
});
