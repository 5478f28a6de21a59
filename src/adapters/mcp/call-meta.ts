import { CALL_META } from '../../base/mcp-wire.ts';
import type { CallContext } from '../../dispatch/context.ts';
import { type RuntimeContext, readRuntimeContext } from '../support/runtime-context.ts';
import type { ToolExtra } from './types.ts';

type Meta = Readonly<Record<string, unknown>>;

/** A name from outside; one that is longer tells nobody more. */
const LONGEST_ID = 256;

/** What the `_meta` of a call's params says of it: its field `penstock`, and nothing beside it. */
export function readCallMeta(meta: Meta | undefined): RuntimeContext {
  const own = meta?.[CALL_META];
  return isObject(own) ? readRuntimeContext({ penstock: own }) : {};
}

/** What is left to a call when its request goes out. */
export interface Outgoing {
  readonly runId: string | undefined;
  /** Milliseconds; undefined without a deadline. */
  readonly remainingMs: number | undefined;
  readonly wallNow: number;
}

/** The `_meta` of a call's params with what its server is to know; `undefined` where there is none. */
export function writeCallMeta(meta: Meta | undefined, told: Outgoing | false): Meta | undefined {
  const { [CALL_META]: before, ...others } = meta ?? {};
  if (told === false) return meta === undefined ? undefined : others;
  const { runId, remainingMs, wallNow } = told;
  const facts = {
    ...(isObject(before) ? before : {}),
    ...(runId === undefined ? {} : { runId }),
    // The clocks of two machines differ, so that an instant may be minutes off; what is left of the time is not.
    ...(remainingMs === undefined
      ? {}
      : { deadline: Math.floor(wallNow + remainingMs), remainingMs: Math.floor(remainingMs) }),
  };
  if (Object.keys(facts).length === 0) return meta;
  return { ...others, [CALL_META]: facts };
}

/**
 * What a server knows of a call: who makes it, and until when the answer is of use. Of what a client says of
 * itself, its class and its account are not believed.
 */
export function contextOfExtra(extra: ToolExtra, wallNow: number): CallContext {
  const said = extra._meta?.[CALL_META];
  const told: Meta = isObject(said) ? said : {};
  const client = idOf(extra.authInfo?.clientId) ?? idOf(extra.sessionId);
  const run = idOf(told.runId);
  // Clients take turns, then the runs of each: a `/` in a client's name would make it a path of its own.
  const runId =
    client === undefined ? run : [client.replaceAll('/', '%2F'), ...(run === undefined ? [] : [run])].join('/');
  const deadline = deadlineOf(told, wallNow);
  return {
    ...(extra.signal === undefined ? {} : { signal: extra.signal }),
    ...(runId === undefined ? {} : { runId }),
    ...(deadline === undefined ? {} : { deadline }),
  };
}

function deadlineOf({ remainingMs, deadline }: Meta, wallNow: number): number | undefined {
  if (typeof remainingMs === 'number' && Number.isFinite(remainingMs)) return wallNow + remainingMs;
  return typeof deadline === 'number' && Number.isFinite(deadline) ? deadline : undefined;
}

function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, LONGEST_ID) : undefined;
}

function isObject(value: unknown): value is Meta {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
