import { expect } from 'vitest';
import type { AlertName } from '../../../src/base/alert.ts';
import type { HoldCause, Outcome } from '../../../src/base/words.ts';
import type { Call } from '../../../src/dispatch/context.ts';
import { type DownstreamPolicyInput, explain } from '../../../src/index.ts';
import { configS } from '../../support/configs.ts';
import { Rig, type RigOptions } from '../../support/rig.ts';

/** What a lane must make of an outcome. */
export interface Reading {
  readonly outcome: Outcome;
  /** The server's own word, as the event tells it. */
  readonly retryAfterMs?: number;
  /** How long nothing starts; absent: the lane is not held for it. */
  readonly heldMs?: number;
  readonly cause?: HoldCause;
  /** Exactly these, one each. */
  readonly alerts: readonly AlertName[];
}

/** What a success says of its own window may hold the next start; that is no refusal. */
const NOT_FOR_A_REFUSAL: readonly HoldCause[] = ['quota-reset', 'operator'];

const COOLDOWN_MS = 2_000;
const COOLDOWN_MAX_MS = 60_000;
const MAX_HOLD_MS = 86_400_000;

export const SUCCESS: Reading = { outcome: 'success', alerts: [] };
export const FAILED: Reading = { outcome: 'failed', alerts: [] };
export const CANCELLED: Reading = { outcome: 'cancelled', alerts: [] };

/** Our quota is used up; without a number the lane chooses its own hold. */
export function throttled(retryAfterMs?: number): Reading {
  return { outcome: 'throttled', ...held(retryAfterMs), alerts: ['QuotaModelWrong'] };
}

/** The server has trouble of its own: a hold, and nobody is told that a quota is wrong. */
export function overloaded(retryAfterMs?: number): Reading {
  return { outcome: 'overloaded', ...held(retryAfterMs), alerts: [] };
}

/** What seconds do not cure. */
export function exhausted(retryAfterMs?: number): Reading {
  const word = retryAfterMs === undefined ? {} : { retryAfterMs };
  const isReset = (retryAfterMs ?? 0) >= COOLDOWN_MAX_MS;
  const heldMs = isReset ? retryAfterMs! : COOLDOWN_MAX_MS;
  const cause = isReset ? 'quota-reset' : 'cooldown';
  return { outcome: 'exhausted', ...word, heldMs, cause, alerts: ['QuotaExhausted'] };
}

function held(retryAfterMs: number | undefined): Omit<Reading, 'outcome' | 'alerts'> {
  if (retryAfterMs === undefined) return { heldMs: COOLDOWN_MS, cause: 'cooldown' };
  // "Now" is a value, and holds nothing.
  if (retryAfterMs === 0) return { retryAfterMs };
  return { retryAfterMs, heldMs: Math.min(retryAfterMs, MAX_HOLD_MS), cause: 'retry-after' };
}

/** How an outcome is handed to a lane. */
export interface Handing {
  readonly policy?: DownstreamPolicyInput;
  readonly options?: RigOptions;
  /** Which way the client is expected to say it. */
  readonly how?: 'thrown' | 'returned';
  /** What the same object means where it is reported, if that is something else: a bare status is then an answer. */
  readonly reported?: Reading;
}

interface Ended {
  readonly how: 'thrown' | 'returned';
  readonly what: unknown;
}

/**
 * Runs a client's call through a dispatcher and checks everything that its outcome must, and must not,
 * do; then reports the same object to a second dispatcher, which must read it alike. Returns the outcome.
 */
export async function hand(reading: Reading, fn: (call: Call) => unknown, handing: Handing = {}): Promise<unknown> {
  const rig = rigFor(handing);
  const { how, what } = await through(rig, fn);
  if (handing.how !== undefined) expect(how).toBe(handing.how);
  const [ended] = rig.record.ends;
  const said = ended?.retryAfterMs === undefined ? {} : { retryAfterMs: ended.retryAfterMs };
  expect({ outcome: ended?.outcome, ...said, ...effectsOn(rig) }).toEqual(reading);
  expectFewWords(rig);
  await expectHeld(rig, reading);
  await rig.rest();
  if (how === 'thrown') expectExplained(reading, what);
  await expectReported(handing.reported ?? reading, what, handing);
  return what;
}

export function rigFor({ policy, options }: Handing = {}): Rig {
  return new Rig(configS({ whilePaused: 'wait', ...policy }), options);
}

/** The caller gets the very object with which the client ended. */
async function through(rig: Rig, fn: (call: Call) => unknown): Promise<Ended> {
  let ended: Ended | undefined;
  const made = rig.call({
    tool: 'look_up',
    fn: async (call) => {
      try {
        const value = await fn(call);
        ended = { how: 'returned', what: value };
        return value;
      } catch (error) {
        ended = { how: 'thrown', what: error };
        throw error;
      }
    },
  });
  await made.promise;
  expect(made.state).toBe(ended?.how === 'thrown' ? 'rejected' : 'fulfilled');
  // Not `toBe`: on failure it would print sockets and all.
  expect(Object.is(ended?.how === 'thrown' ? made.error : made.value, ended?.what)).toBe(true);
  return ended!;
}

/** What an outcome has done to a lane, but for what the event says. */
function effectsOn(rig: Rig): Omit<Reading, 'outcome' | 'retryAfterMs'> {
  const alerts = rig.alerts.map(({ name }) => name);
  const causes = rig.record.of('held').map(({ cause }) => cause);
  const { heldUntil, totals } = rig.snap();
  expect(totals.throttled).toBe(alerts.filter((name) => name === 'QuotaModelWrong').length);
  if (alerts.length === 0 && causes.every((cause) => NOT_FOR_A_REFUSAL.includes(cause))) return { alerts };
  const heldMs = heldUntil === undefined ? {} : { heldMs: heldUntil - rig.clock.wallNow() };
  const [cause] = causes;
  return { ...heldMs, ...(cause !== undefined && { cause }), alerts };
}

const CODES: Readonly<Partial<Record<string, readonly string[]>>> = {
  throttled: ['RATE_LIMITED'],
  exhausted: ['RATE_LIMITED'],
  overloaded: ['FAILED'],
  failed: ['FAILED', 'TIMEOUT'],
  cancelled: ['CANCELLED'],
};

/** Whoever catches the error can tell what the lane has read. */
function expectExplained({ outcome, retryAfterMs }: Reading, error: unknown): void {
  const told = explain(error);
  expect(told.retryAfterMs).toBe(retryAfterMs);
  expect(CODES[outcome] ?? [...CODES.failed!, ...CODES.cancelled!]).toContain(told.code);
}

/** No URL, header value or body goes into an alert. */
function expectFewWords(rig: Rig): void {
  expect(JSON.stringify(rig.alerts)).not.toMatch(/127\.0\.0\.1|slow down|localhost/);
}

/** Nothing starts before the hold ends; then one call does, at that very instant. */
async function expectHeld(rig: Rig, { heldMs }: Reading): Promise<void> {
  if (heldMs === undefined) return;
  const next = rig.call();
  await rig.to(heldMs - 1);
  expect(next.state).toBe('waiting');
  await rig.to(heldMs);
  expect(next.startedMs).toBe(heldMs);
}

async function expectReported({ outcome: _, retryAfterMs: __, ...effects }: Reading, what: unknown, handing: Handing) {
  const rig = rigFor(handing);
  rig.dispatcher.report('api', what);
  await rig.settle();
  expect({ reported: effectsOn(rig) }).toEqual({ reported: effects });
  await rig.rest();
}
