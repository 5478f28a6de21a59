import { answerOrGenerator, isAsyncGenerator } from '../support/hold.ts';
import type { Refusal } from '../support/refusal.ts';
import { type RuntimeContext, readRuntimeContext } from '../support/runtime-context.ts';
import { passOf, refuse, type ToolCall, type ToolGate } from '../support/tool-gate.ts';

/** A tool of LangChain that runs in this process, as far as a gate looks at it. */
export interface ToolShape {
  readonly name: string;
  readonly invoke: (...of: never) => unknown;
  /** What runs a `StructuredTool` once its input is checked; a runnable that is used as a tool has none. */
  readonly _call?: unknown;
  readonly responseFormat?: unknown;
}

/** Of a runnable's config, what a gate reads. */
export interface ToolConfig {
  readonly signal?: AbortSignal | undefined;
  readonly configurable?: unknown;
  readonly context?: unknown;
}

/** Whether a tool runs in this process; a provider's is a description. */
export function isTool(tool: unknown): tool is ToolShape {
  if (typeof tool !== 'object' || tool === null) return false;
  const { name, invoke } = tool as Partial<ToolShape>;
  return typeof name === 'string' && typeof invoke === 'function';
}

/**
 * A view of the tool in which one method passes the gate: a copy would lose its private fields, and what is changed on
 * the tool later.
 */
export function gatedTool<Tool extends object>(gate: ToolGate, tool: Tool & ToolShape): Tool {
  const method = typeof tool._call === 'function' ? '_call' : 'invoke';
  const at = method === '_call' ? 2 : 1;
  const gated = (...of: unknown[]) => {
    const run = tool[method] as (...of: unknown[]) => unknown;
    return passTool(gate, tool, of[0], of[at] as ToolConfig | undefined, (config) =>
      run.apply(tool, of.toSpliced(at, 1, config)),
    );
  };
  return new Proxy(tool, { get: (target, key) => (key === method ? gated : Reflect.get(target, key, target)) });
}

async function passTool(
  gate: ToolGate,
  tool: ToolShape,
  input: unknown,
  config: ToolConfig | undefined,
  run: (config: ToolConfig) => unknown,
): Promise<unknown> {
  const asked = callOf(input, config);
  const signals = [asked.signal];
  const refused = (error: unknown) => answerOf(tool, refuse(gate, error, signals));
  try {
    const pass = passOf(gate, asked, signals);
    const answer = await answerOrGenerator(pass, (call) => run({ ...config, signal: call.signal }));
    return isAsyncGenerator(answer) ? refusable(answer, refused) : answer;
  } catch (error) {
    return refused(error);
  }
}

/** A generator's last word is the tool's answer; what it yields before are events. */
async function* refusable(answer: AsyncGenerator, refused: (error: unknown) => unknown): AsyncGenerator {
  try {
    return yield* answer;
  } catch (error) {
    return refused(error);
  }
}

/** A tool that has an artifact beside its content is expected to return both, whatever happens. */
function answerOf(tool: ToolShape, refusal: Refusal): unknown {
  return tool.responseFormat === 'content_and_artifact' ? [refusal, undefined] : refusal;
}

function callOf(input: unknown, config: ToolConfig | undefined): ToolCall {
  const { signal, configurable, context } = config ?? {};
  return { input, context: context ?? configurable, scope: scopeOf(config), runtime: config, signal };
}

/** What the program says of its run; a thread is a run that nobody has named. */
export function scopeOf({ configurable, context }: ToolConfig = {}): RuntimeContext {
  const { thread_id: thread } = (configurable ?? {}) as { readonly thread_id?: unknown };
  const fallback = typeof thread === 'string' ? { runId: thread } : {};
  return { ...fallback, ...readRuntimeContext(configurable), ...readRuntimeContext(context) };
}
