import type { Dispatcher } from '../../contract.ts';
import type { Call, CallContext } from '../../dispatch/context.ts';
import { refusalOf } from '../support/refusal.ts';
import type { ToolContext } from '../support/tool-map.ts';
import { contextOfExtra } from './call-meta.ts';
import { merged } from './contexts.ts';
import { checkDispatcher, checkOptions, insideOf, invalid } from './options.ts';
import { CallProgress, type ProgressReport } from './progress.ts';
import { asResult, type RefusedResult, refusedResult } from './result.ts';
import type { AnyDispatcher, GateToolOptions, ToolExtra } from './types.ts';

const WHERE = 'gateTool';
const KNOWN = ['onRefused', 'context', 'progress', 'tool'];
const PROGRESS = 'notifications/progress';

/** The callback of a tool: `(args, extra)`, or `(extra)` where the tool has no schema for its input. */
export type Callback = (...args: unknown[]) => unknown;

/**
 * Puts a gate before what a tool of an MCP server calls: wraps the callback that `registerTool` is given, with a
 * schema for its input or without.
 *
 * While a call waits, a client that asked for progress is told its place. `extra.signal` takes it out of the line;
 * the callback gets one that fires at the deadline too. Clients take turns: by `extra.authInfo.clientId`, else by
 * `extra.sessionId`, and within each by the run that the client names. A refusal, and a 429 that the callback
 * throws, is returned as a result that the model can reason with; whatever else it throws is thrown. The type of the
 * callback is kept, though what is returned always answers with a promise.
 *
 * @throws {InvalidCall} for bad options. @throws {UnknownDownstream}
 * @example
 * server.registerTool('find', { inputSchema: { id: z.string() } }, gateTool(dispatcher, 'carrier', findDelivery));
 */
export function gateTool<F extends (...args: never[]) => unknown>(
  dispatcher: AnyDispatcher,
  downstream: string,
  callback: F,
  options: GateToolOptions = {},
): F {
  checkDispatcher(dispatcher, WHERE);
  if (typeof callback !== 'function') throw invalid(WHERE, 'callback', typeof callback, 'a function');
  checkOptions(options, KNOWN, WHERE);
  const plain = dispatcher as unknown as Dispatcher;
  plain.require([downstream]);
  return gatedCallback(
    plain,
    { downstream, context: {} },
    callback as unknown as Callback,
    () => options,
  ) as unknown as F;
}

/** The gate itself; `optionsOf` is asked at every call, since a tool may be renamed. */
export function gatedCallback(
  dispatcher: Dispatcher,
  to: { readonly downstream: string; readonly context: ToolContext },
  callback: Callback,
  optionsOf: () => GateToolOptions,
): (...args: unknown[]) => Promise<unknown> {
  const { downstream } = to;
  const { clock } = insideOf(dispatcher);
  return async function (this: unknown, ...args): Promise<unknown> {
    const options = optionsOf();
    const extra = extraOf(args);
    try {
      const progress = options.progress === false ? undefined : progressOf(extra);
      const context = merged(
        {
          tool: options.tool,
          ...to.context,
          ...contextOfExtra(extra, clock.wallNow()),
          onWait: progress && ((wait) => progress.waits(downstream, wait)),
        } as CallContext,
        options.context?.({ tool: options.tool, args: args.length > 1 ? args[0] : undefined, extra }),
      );
      const run = (call: Call): unknown => callback.apply(this, withExtra(args, extra, call, progress));
      const result = await dispatcher.callDownstream(downstream, run, context);
      return passedOn(result, downstream, options) ?? result;
    } catch (error) {
      return refusedResult(error, downstream, options.onRefused);
    }
  };
}

/**
 * A 429 that a callback has returned where a result belongs, a fetch `Response` say: as it stands, the SDK would
 * make an empty success of it.
 */
function passedOn(value: unknown, downstream: string, { onRefused }: GateToolOptions): RefusedResult | undefined {
  if (typeof value !== 'object' || value === null || 'content' in value || 'structuredContent' in value)
    return undefined;
  if (onRefused === 'throw') return undefined;
  const refusal = refusalOf(value, downstream);
  return refusal && asResult(refusal);
}

/** The last argument, if it is what the SDK hands over there. */
function extraOf(args: readonly unknown[]): ToolExtra {
  const last = args.at(-1) as Partial<ToolExtra> | null | undefined;
  if (typeof last !== 'object' || last === null) return {};
  const isExtra = typeof last.sendNotification === 'function' || typeof last.signal?.addEventListener === 'function';
  return isExtra ? last : {};
}

/** Where a client has asked for progress, how it is told. */
function progressOf(extra: ToolExtra): CallProgress | undefined {
  const progressToken = extra._meta?.progressToken;
  const { sendNotification } = extra;
  if (progressToken === undefined || typeof sendNotification !== 'function') return undefined;
  return new CallProgress((report) =>
    sendNotification.call(extra, { method: PROGRESS, params: { progressToken, ...report } } as never),
  );
}

/** The arguments with the signal of the call, and with progress that goes on from where the wait has left it. */
function withExtra(args: unknown[], extra: ToolExtra, call: Call, progress: CallProgress | undefined): unknown[] {
  progress?.ends();
  if (args.at(-1) !== extra) return args;
  const own: ToolExtra = Object.assign(Object.create(Object.getPrototypeOf(extra) as object), extra, {
    signal: call.signal,
    ...(progress?.hasWaited === true ? { sendNotification: raising(extra, progress) } : {}),
  });
  return [...args.slice(0, -1), own];
}

interface Notification {
  readonly method?: unknown;
  readonly params?: ProgressReport & { readonly progressToken?: unknown };
}

function raising(extra: ToolExtra, progress: CallProgress): NonNullable<ToolExtra['sendNotification']> {
  return (notification: Notification) => {
    const { method, params } = notification;
    const isOwn = method === PROGRESS && params?.progressToken === extra._meta?.progressToken;
    const told = isOwn && params !== undefined ? { ...notification, params: progress.raised(params) } : notification;
    return extra.sendNotification!.call(extra, told as never);
  };
}
