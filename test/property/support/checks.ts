import { isAdmissionError } from '../../../src/base/errors.ts';
import type { CallEvent } from '../../../src/base/events.ts';
import type { DownstreamSnapshot } from '../../../src/base/snapshot.ts';
import { PRIORITIES } from '../../../src/base/words.ts';
import { ROUND_MS, type ShadowCall, type ShadowLane } from './shadow.ts';
import type { World } from './world.ts';

/** The invariants, checked at every start, at every event and after every turn. */
export class Checks {
  readonly #world: World;
  /** When it was first seen that somebody waits who could start, and how many had started by then. */
  #stuck: { readonly at: number; readonly starts: number } | undefined;

  #queued = 0;
  /** The class of the call that has just been displaced: the next to come into line is whoever displaced it. */
  #madeRoom: number | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  /** A start: once, in time, outside every hold, with a place, spaced, within every window. */
  start(call: ShadowCall): void {
    const world = this.#world;
    const { now, policy } = world;
    const { lane } = call;
    const wrong = (text: string): void => world.fault(`call ${call.id}: ${text}`);
    call.startedAt = now;
    call.costs = costsAt(call, world);
    call.units = new Set(['requests', ...policy.quotas.map(({ unit }) => unit)]);
    if (call.runs > 1) wrong(`fn ran ${call.runs} times`);
    if (call.isAnswered) wrong('fn ran after its caller had an answer');
    if (now < lane.heldUntil - 1e-6) wrong(`started ${lane.heldUntil - now} ms before the end of a hold`);
    if (now > call.deadlineAt + ROUND_MS) wrong(`started ${now - call.deadlineAt} ms after its deadline`);
    if (!call.isNested && now > call.maxWaitAt + ROUND_MS) wrong('started after maxWait');
    const interval = lane.generation === world.generation ? Number(policy.input.minInterval ?? 0) : 0;
    if (now < lane.lastStartAt + interval - ROUND_MS) wrong(`started ${now - lane.lastStartAt} ms after the last`);
    lane.lastStartAt = now;
    lane.starts.push(call);
    const { maxConcurrent } = policy.input;
    const places = lane.places(world.calls, now);
    if (!call.isNested && maxConcurrent !== undefined && places > maxConcurrent && lane.generation === world.generation)
      wrong(`${places} places held, ${maxConcurrent} there are`);
    const overfull = lane.overfull(call, now);
    if (overfull !== undefined && lane.generation === world.generation) wrong(overfull);
  }

  event(call: ShadowCall, event: CallEvent): void {
    const world = this.#world;
    const since = event.type === 'settled' || call.state !== 'waiting' ? call.startedAt : world.now;
    const waitedMs = since - call.madeAt;
    if (Math.abs(event.waitedMs - waitedMs) > ROUND_MS && event.type !== 'queued')
      world.fault(`call ${call.id}: ${event.type} says it waited ${event.waitedMs} ms, it was ${waitedMs} ms`);
    const odd = oddNumber(event, event.type);
    if (odd !== undefined) world.fault(`call ${call.id}: ${odd}`);
    if (event.type === 'refused' && event.code === 'RATE_LIMIT_QUEUE_FULL' && call.queuedAs > 0) this.#displaced(call);
    if (event.type === 'queued' && this.#madeRoom !== undefined) {
      if (rankOf(call) >= this.#madeRoom) world.fault(`call ${call.id} displaced one that is not lower`);
      this.#madeRoom = undefined;
    }
    call.queuedAs = event.type === 'queued' ? ++this.#queued : 0;
    const { error } = call;
    if (call.isAnswered && isAdmissionError(error) && event.type === 'refused' && error.code !== event.code)
      world.fault(`call ${call.id}: refused with ${error.code}, told ${event.code}`);
  }

  /** Whoever makes room for a higher class is the newest of the lowest one. */
  #displaced(call: ShadowCall): void {
    const rank = rankOf(call);
    this.#madeRoom = rank;
    for (const other of this.#world.calls) {
      if (other.lane !== call.lane || other.queuedAs === 0 || other === call) continue;
      const isLower = rankOf(other) > rank || (rankOf(other) === rank && other.queuedAs > call.queuedAs);
      if (isLower) this.#world.fault(`call ${call.id} was displaced, call ${other.id} was not`);
    }
  }

  /** After every turn. */
  look(): void {
    const world = this.#world;
    const { clock, dispatcher } = world;
    for (const violation of clock.violations.slice(0, 1)) world.fault(violation);
    for (const fault of world.record.faults.slice(0, 1)) world.fault(fault);
    const one = dispatcher.snapshot().downstreams[0];
    if (one !== undefined) this.#snapshot(one);
    this.#timers();
  }

  #snapshot(one: DownstreamSnapshot): void {
    const world = this.#world;
    const odd = oddNumber(one, 'snapshot');
    if (odd !== undefined) world.fault(odd);
    for (const { permits, burst, quota } of one.quotas)
      if (permits > burst + 1e-9) world.fault(`${quota}: ${permits} permits in a bucket of ${burst}`);
    const mine = world.calls.filter((call) => call.lane.generation === world.generation);
    const waiting = mine.filter((call) => call.state === 'waiting' && !call.isAnswered);
    const running = mine.filter((call) => call.state === 'running');
    if (one.queued !== waiting.length) world.fault(`${one.queued} are said to wait, ${waiting.length} do`);
    if (one.running + one.orphaned !== running.length)
      world.fault(`${one.running} + ${one.orphaned} are said to run, ${running.length} do`);
    const { maxQueueDepth } = world.policy.input;
    for (const lane of new Set(waiting.map((call) => call.lane))) {
      const depth = waiting.filter((call) => call.lane === lane && !call.isNested).length;
      if (depth > Math.max(lane.deepest, maxQueueDepth ?? depth)) world.fault(`${depth} wait in line`);
    }
    for (const { until } of one.holds) if (!Number.isFinite(until)) world.fault(`a hold until ${until}`);
    this.#live(
      one,
      waiting.filter((call) => call.lane.account === undefined),
    );
  }

  /** Nobody waits who could start; what is due within a rounding error may take until the timer rings. */
  #live(one: DownstreamSnapshot, waiting: readonly ShadowCall[]): void {
    const { now } = this.#world;
    const starts = this.#world.lane(undefined).starts.length;
    if (!this.#couldStart(one, waiting)) this.#stuck = undefined;
    else if (this.#stuck?.starts !== starts) this.#stuck = { at: now, starts };
    else if (now > this.#stuck.at + 5 * ROUND_MS)
      this.#world.fault(`${waiting.length} wait, each of them could start since ${this.#stuck.at}, and none does`);
  }

  /** Whether every one of those that wait could start: then it does not matter whose turn it is. */
  #couldStart(one: DownstreamSnapshot, waiting: readonly ShadowCall[]): boolean {
    const world = this.#world;
    const { policy, now } = world;
    const lane = world.lane(undefined);
    if (waiting.length === 0 || one.holds.some(({ leftMs }) => leftMs > 0)) return false;
    const spacing = one.quotas.length === 0 && one.warmLeftMs > 0 ? Number(policy.input.warm?.spacing ?? 1_000) : 0;
    if (now < lane.lastStartAt + Math.max(spacing, Number(policy.input.minInterval ?? 0))) return false;
    const { maxConcurrent } = policy.input;
    const isFull = maxConcurrent !== undefined && lane.places(world.calls, now - 3 * ROUND_MS) >= maxConcurrent;
    if (isFull && waiting.some((call) => !call.isNested)) return false;
    return waiting.every((call) => {
      const costs = costsAt(call, world);
      const hasPermits = one.quotas.every(({ unit, permits, burst }) => {
        const cost = unit === 'requests' ? costs.requests : costs.tokens;
        return cost === 0 || (cost <= burst && permits >= cost - 1e-9);
      });
      return hasPermits && lane.hasRoom(costs, now);
    });
  }

  /** At most one timer per lane that keeps the process alive; one where somebody waits for time; none when idle. */
  #timers(): void {
    const world = this.#world;
    const lanes = new Set(
      world.calls.filter((call) => call.state !== 'over' && !isRefused(call)).map(({ lane }) => lane),
    );
    const pending = world.clock.pendingTimers - (world.isClosing && !world.isClosed ? 1 : 0);
    if (pending > lanes.size) world.fault(`${pending} timers for ${lanes.size} lanes with calls`);
    if (world.isClosing) return;
    for (const lane of lanes)
      if (pending <= 0 && this.#waitsForTime(lane)) world.fault('waiters, a free place, and no timer');
  }

  #waitsForTime(lane: ShadowLane): boolean {
    const { calls, policy, now } = this.#world;
    const { maxConcurrent } = policy.input;
    const isFree = maxConcurrent === undefined || lane.places(calls, now) < maxConcurrent;
    return isFree && calls.some((call) => call.lane === lane && call.state === 'waiting' && !call.isAnswered);
  }
}

function rankOf({ spec }: ShadowCall): number {
  return PRIORITIES.indexOf(spec.priority ?? 'normal');
}

function isRefused(call: ShadowCall): boolean {
  return call.state === 'waiting' && call.isAnswered;
}

/** What a call takes under the policy in force. */
export function costsAt(call: ShadowCall, world: World): ShadowCall['costs'] {
  const { requests, tokens } = call.isNested ? { requests: undefined, tokens: undefined } : call.spec;
  return { requests: requests ?? 1, tokens: tokens ?? world.policy.defaultTokens };
}

function oddNumber(value: unknown, path: string): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${path} is ${value}`;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const odd = oddNumber(inner, `${path}.${key}`);
    if (odd !== undefined) return odd;
  }
  return undefined;
}
