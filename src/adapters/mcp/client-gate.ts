import type { Clock } from '../../base/clock.ts';
import { type DeadlineExceeded, isAdmissionError } from '../../base/errors.ts';
import type { Dispatcher } from '../../contract.ts';
import type { Call, CallContext } from '../../dispatch/context.ts';
import type { Mapped } from '../support/tool-map.ts';
import { readCallMeta, writeCallMeta } from './call-meta.ts';
import { merged } from './contexts.ts';
import { insideOf, ownRunOf, type Routes } from './options.ts';
import { CallProgress, type ProgressReport } from './progress.ts';
import { refusedResult } from './result.ts';
import { patienceOf, type RequestTimes, timesLeft } from './timing.ts';
import type { GateClientOptions } from './types.ts';

/** The params of a `tools/call`. */
export interface CallParams {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** What of a request's options is read, and changed for the request that goes out. */
export interface RequestOptions extends RequestTimes {
  readonly signal?: AbortSignal | undefined;
  readonly onprogress?: ((report: ProgressReport) => void) | undefined;
  readonly task?: unknown;
}

/** Makes the request itself. */
export type Send<T> = (params: CallParams, options: RequestOptions | undefined) => T;

/** Tells when the connection is lost, until what it returns is called. */
export type WatchClose = (closed: () => void) => () => void;

/** A call on its way: what it is, where it goes, and what it says of itself. */
interface Passage {
  readonly params: CallParams;
  readonly options: RequestOptions;
  readonly to: Mapped;
  readonly context: CallContext;
  readonly progress: CallProgress | undefined;
  readonly enteredAt: number;
}

/** Codes of the SDK's own errors, whose class is not known here. */
const CONNECTION_CLOSED = -32_000;
const REQUEST_TIMEOUT = -32_001;

/** A wall clock counts whole milliseconds: a deadline by it may be one early, and both its ends are read. */
const WALL_STEP_MS = 2;

/** The gate of one client: every call of a tool goes through a lane. */
export class ClientGate {
  readonly #dispatcher: Dispatcher;
  readonly #routes: Routes;
  readonly #options: GateClientOptions;
  readonly #clock: Clock;
  readonly #waiting = new Set<AbortController>();
  readonly #watchClose: WatchClose;
  #unwatch: (() => void) | undefined;

  constructor(dispatcher: Dispatcher, routes: Routes, options: GateClientOptions, watchClose: WatchClose) {
    this.#dispatcher = dispatcher;
    this.#routes = routes;
    this.#options = options;
    this.#clock = insideOf(dispatcher).clock;
    this.#watchClose = watchClose;
  }

  /** Those that wait are rejected, as the SDK rejects those that run. */
  closed(): void {
    const reason = protocolError(CONNECTION_CLOSED, 'Connection closed');
    const waiting = [...this.#waiting];
    for (const leave of waiting) this.#left(leave);
    for (const leave of waiting) leave.abort(reason);
  }

  /** One call of a tool: what its request is answered with, or the refusal. */
  async call(params: CallParams, options: RequestOptions | undefined, send: Send<unknown>): Promise<unknown> {
    let downstream = '';
    let passage: Passage | undefined;
    try {
      const to = this.#routes.of(params.name);
      if (to === undefined) return await send(params, options);
      downstream = to.downstream;
      const entered = this.#enter(to, params, options ?? {});
      passage = entered;
      return await this.#waited((leave) =>
        this.#faceOf(leave).callDownstream(
          downstream,
          async (call) => {
            this.#left(leave);
            return this.#run(call, entered, send);
          },
          entered.context,
        ),
      );
    } catch (error) {
      if (passage !== undefined && this.#hasTimedOut(error, passage)) throw timedOut(passage);
      // Who asks for a task reads a task from the answer, and would not see the refusal.
      return refusedResult(error, downstream, options?.task === undefined ? this.#options.onRefused : 'throw');
    }
  }

  /**
   * One call of a tool whose answer comes as a stream of messages: it keeps its place to the end of the stream.
   * A refusal is the last message.
   */
  async *stream(
    params: CallParams,
    options: RequestOptions | undefined,
    send: Send<AsyncIterable<unknown>>,
  ): AsyncGenerator<unknown, void, void> {
    let downstream = '';
    try {
      const to = this.#routes.of(params.name);
      if (to === undefined) return yield* send(params, options);
      downstream = to.downstream;
      const passage = this.#enter(to, params, options ?? {});
      const lease = await this.#waited((leave) => this.#faceOf(leave).acquire(downstream, passage.context));
      let last: unknown;
      try {
        for await (const message of send(...this.#outgoing(lease, passage))) {
          last = message;
          yield message;
        }
      } finally {
        lease.release(outcomeOf(last));
      }
    } catch (error) {
      yield this.#lastMessage(error, downstream);
    }
  }

  /** Whether a call has ended because its request's time was over, which the lane has noticed before the request. */
  #hasTimedOut(error: unknown, { options, enteredAt }: Passage): boolean {
    if (!isAdmissionError(error) || (error as Partial<DeadlineExceeded>).phase !== 'running') return false;
    return this.#clock.now() - enteredAt >= patienceOf(options) - WALL_STEP_MS;
  }

  #lastMessage(error: unknown, downstream: string): unknown {
    try {
      return { type: 'result', result: refusedResult(error, downstream, this.#options.onRefused) };
    } catch {
      return { type: 'error', error };
    }
  }

  async #waited<T>(enter: (leave: AbortController) => Promise<T>): Promise<T> {
    const leave = new AbortController();
    this.#waiting.add(leave);
    this.#unwatch ??= this.#watchClose(() => this.closed());
    try {
      return await enter(leave);
    } finally {
      this.#left(leave);
    }
  }

  /** A call waits no more. */
  #left(leave: AbortController): void {
    if (!this.#waiting.delete(leave) || this.#waiting.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  #faceOf(leave: AbortController): Dispatcher {
    return this.#dispatcher.with({ signal: leave.signal });
  }

  #enter(to: Mapped, params: CallParams, options: RequestOptions): Passage {
    const { context: contextOf, progress: isTold = true } = this.#options;
    const { name: tool, arguments: args, _meta: meta } = params;
    const patience = patienceOf(options);
    const { onprogress } = options;
    const progress = isTold && typeof onprogress === 'function' ? new CallProgress(onprogress) : undefined;
    const own: CallContext = {
      tool,
      ...to.context,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(Number.isFinite(patience) ? { deadline: this.#clock.wallNow() + patience } : {}),
      ...(progress === undefined ? {} : { onWait: (wait) => progress.waits(to.downstream, wait) }),
    };
    const context = merged(merged(own, readCallMeta(meta)), contextOf?.({ tool, args, meta }));
    return { params, options, to, context, progress, enteredAt: this.#clock.now() };
  }

  async #run(call: Call, passage: Passage, send: Send<unknown>): Promise<unknown> {
    try {
      return await send(...this.#outgoing(call, passage));
    } catch (error) {
      // The SDK makes an error of its own of an abort: the downstream has not failed, nobody wants the answer.
      if (call.signal.aborted) throw new DOMException('The call was given up', 'AbortError');
      throw error;
    }
  }

  /** The request that goes out after the wait: with the time that is left, and what its server is to know. */
  #outgoing(call: Call, passage: Passage): [params: CallParams, options: RequestOptions] {
    const { params, options, progress, enteredAt, context } = passage;
    progress?.ends();
    const onprogress = options.onprogress;
    const isRaised = progress?.hasWaited === true && onprogress !== undefined;
    const meta = writeCallMeta(
      params._meta,
      this.#options.tellServer !== false && {
        runId: context.runId ?? ownRunOf(this.#dispatcher),
        remainingMs: call.remainingMs,
        wallNow: this.#clock.wallNow(),
      },
    );
    return [
      meta === undefined ? params : { ...params, _meta: meta },
      {
        ...options,
        ...timesLeft(options, this.#clock.now() - enteredAt),
        ...(isRaised ? { onprogress: (report) => onprogress(progress.raised(report)) } : {}),
        signal: call.signal,
      },
    ];
  }
}

/** An error as the SDK makes it, but for its class. */
function protocolError(code: number, message: string, data?: object): Error {
  return Object.assign(new Error(`MCP error ${code}: ${message}`), { code }, data && { data });
}

function timedOut({ options }: Passage): Error {
  return protocolError(REQUEST_TIMEOUT, 'Request timed out', { timeout: patienceOf(options) });
}

/** What the lane is to learn from a stream: its result or its error, if it came to one. */
function outcomeOf(last: unknown): unknown {
  const message = (typeof last === 'object' ? last : undefined) as
    | { readonly type?: unknown; readonly result?: unknown; readonly error?: unknown }
    | undefined;
  return message?.type === 'error' ? message.error : message?.type === 'result' ? message.result : undefined;
}
