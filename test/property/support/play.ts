import { isAdmissionError } from '../../../src/base/errors.ts';
import type { Call, Lease } from '../../../src/dispatch/context.ts';
import { resultOf } from './outcomes.ts';
import type { TestPolicy } from './policies.ts';
import type { ShadowCall, ShadowLane } from './shadow.ts';
import type { Behaviour, CallSpec, Deal, Deed, End, Step } from './steps.ts';
import { NAME, type World } from './world.ts';

const PLAIN: Behaviour = { runs: { of: 'ms', n: 0 }, isSync: true, end: { how: 'value' }, deed: undefined };
const NOTHING: Omit<CallSpec, 'behaviour'> = {
  isLease: false,
  count: 1,
  requests: undefined,
  tokens: undefined,
  priority: undefined,
  run: undefined,
  account: undefined,
  deadline: undefined,
  signal: undefined,
};
/** What a caller can be rejected with besides refusals: the reason of an abort, or what `fn` threw. */
const OWN = /^(abort|call|status) \d+/;

/** Carries out schedules on a world. */
export class Player {
  readonly #world: World;
  readonly #policies: readonly TestPolicy[];
  constructor(world: World, policies: readonly TestPolicy[]) {
    this.#world = world;
    this.#policies = policies;
  }

  async step(step: Step): Promise<void> {
    const world = this.#world;
    if (step.kind === 'advance') return world.advance(world.span(step.by));
    if (step.kind === 'suspend') await world.clock.suspend(step.ms, { monotonic: step.monotonic });
    else if (step.kind === 'wall') world.clock.jumpWall(step.ms);
    else if (step.kind === 'race') {
      this.deal(step.first);
      for (let i = 0; i < step.microtasks; i++) await undefined;
      this.deal(step.second);
    } else this.deal(step);
    await world.settle();
  }

  deal(deal: Deal): void {
    const world = this.#world;
    const { dispatcher, now } = world;
    if (deal.kind === 'call') for (let i = 0; i < deal.spec.count; i++) this.call(deal.spec);
    else if (deal.kind === 'abort') world.signal(deal.signal).abort(new Error(`abort ${deal.signal}`));
    else if (deal.kind === 'finish') this.#pick(deal.which, (call) => call.finish !== undefined)?.finish?.(deal.end);
    else if (deal.kind === 'settle') {
      const call = this.#pick(
        deal.which,
        (one) => one.call !== undefined && (one.state !== 'over' || (one.isKnownOver && one.lateSettles < 2)),
      );
      if (call !== undefined) this.settle(call, deal.permits, deal.unit);
    } else if (world.isClosing) return;
    else if (deal.kind === 'register') this.#register(deal.which);
    else if (!world.isRegistered) return;
    else if (deal.kind === 'pause') this.#pause(deal.ms);
    else if (deal.kind === 'resume') this.#resume(deal.all);
    else if (deal.kind === 'report') {
      const status = { status: 429, ...(deal.hintMs === undefined ? {} : { retryAfterMs: deal.hintMs }) };
      dispatcher.report(NAME, status);
      if (deal.hintMs !== undefined)
        world.learn(world.lane(undefined), { how: 'throw-429', hintMs: deal.hintMs }, now, now);
      else world.lane(undefined).lastIncidentAt = now;
    } else if (deal.kind === 'forecast') this.#forecast(deal.calls);
    else if (deal.kind === 'unregister') {
      dispatcher.unregister(NAME);
      world.isRegistered = false;
      world.generation++;
      world.operatorUntil = 0;
    }
  }

  call(spec: CallSpec): void {
    const world = this.#world;
    const { clock, policy, now } = world;
    const lane = world.lane(spec.account);
    const deadline = spec.deadline === undefined ? undefined : clock.wallNow() + world.span(spec.deadline);
    const maxWait = policy.input.maxWait;
    const call = this.#add(spec, lane, {
      isNested: false,
      deadlineAt: deadline === undefined ? Number.POSITIVE_INFINITY : now + (deadline - clock.wallNow()),
      deadlineWall: deadline ?? Number.POSITIVE_INFINITY,
      maxWaitAt: maxWait === undefined ? Number.POSITIVE_INFINITY : now + Number(maxWait),
    });
    const ctx = {
      tool: `c${call.id}`,
      deadline,
      priority: spec.priority,
      cost: costOf(spec),
      account: spec.account,
      runId: spec.run,
      signal: spec.signal === undefined ? undefined : world.signal(spec.signal).signal,
    };
    const { dispatcher } = world;
    const answer = spec.isLease
      ? dispatcher.acquire(NAME, ctx).then((lease) => this.#leased(call, lease))
      : dispatcher.callDownstream(NAME, (running) => this.#fn(call, running), ctx);
    if (call.runs > 0) world.fault(`call ${call.id}: fn ran before callDownstream had returned`);
    this.#await(call, answer);
  }

  /** Corrects what a call takes; the shadow follows where the rules say that it counts. */
  settle(call: ShadowCall, permits: number, unit: 'requests' | 'tokens'): void {
    const isOver = call.state === 'over';
    try {
      call.call!.settle(unit === 'requests' ? permits : { tokens: permits });
    } catch (error) {
      if (!isAdmissionError(error) || error.code !== 'INVALID_CALL') throw error;
      return;
    }
    if (isOver && call.lateSettles++ > 0) return;
    if (call.units.has(unit)) call.costs = { ...call.costs, [unit]: permits };
  }

  #add(
    spec: CallSpec,
    lane: ShadowLane,
    more: Pick<ShadowCall, 'isNested' | 'deadlineAt' | 'deadlineWall' | 'maxWaitAt'>,
  ) {
    const world = this.#world;
    const call: ShadowCall = {
      id: world.calls.length,
      lane,
      spec,
      ...more,
      madeAt: world.now,
      state: 'waiting',
      isKnownOver: false,
      isAnswered: false,
      error: undefined,
      runs: 0,
      startedAt: Number.NaN,
      costs: { requests: 0, tokens: 0 },
      units: new Set(),
      lateSettles: 0,
      orphanAt: Number.POSITIVE_INFINITY,
      call: undefined,
      finish: undefined,
      callId: undefined,
      queuedAs: 0,
    };
    world.add(call);
    return call;
  }

  #await(call: ShadowCall, answer: Promise<unknown>): void {
    const world = this.#world;
    const answered = (error: unknown): void => {
      if (call.isAnswered) world.fault(`call ${call.id}: answered twice`);
      call.isAnswered = true;
      call.error = error;
      if (error !== undefined) this.#refused(call, error);
    };
    answer.then(() => answered(undefined), answered);
  }

  #refused(call: ShadowCall, error: unknown): void {
    const world = this.#world;
    if (!isAdmissionError(error)) {
      if (!OWN.test(error instanceof Error ? error.message : ''))
        world.fault(`call ${call.id}: rejected with ${error}`);
      return;
    }
    if (error.started !== call.runs > 0)
      world.fault(`call ${call.id}: started ${error.started}, ran ${call.runs} times`);
    if (error.code === 'INVALID_CALL') world.fault(`call ${call.id}: ${error.message}`);
    if (error.started && call.call?.signal.aborted === false) world.fault(`call ${call.id}: its signal never fired`);
  }

  #leased(call: ShadowCall, lease: Lease): void {
    const world = this.#world;
    call.call = lease;
    call.finish = (end) => {
      call.finish = undefined;
      const { value } = resultOf(end, call.id);
      // A lease counts as thrown what is an Error.
      world.over(call, end);
      lease.release(value);
      lease.release();
    };
  }

  #fn(call: ShadowCall, running: Call): unknown {
    const world = this.#world;
    world.started(call);
    call.call = running;
    const { behaviour } = call.spec;
    const { isSync, end, runs } = behaviour;
    if (running.signal.aborted) world.fault(`call ${call.id}: its signal had fired before it started`);
    const nested = behaviour.deed === undefined ? undefined : this.#do(behaviour.deed, call, running);
    const ms = runs === undefined ? undefined : world.span(runs);
    if (ms === 0 && isSync && nested === undefined) return this.#end(call, end);
    return (nested ?? Promise.resolve()).then(() => this.#later(call, ms));
  }

  #end(call: ShadowCall, end: End): unknown {
    const { isThrown, value } = resultOf(end, call.id);
    this.#world.over(call, end);
    if (isThrown) throw value;
    return value;
  }

  #later(call: ShadowCall, ms: number | undefined): Promise<unknown> {
    const { clock } = this.#world;
    return new Promise((resolve, reject) => {
      const finish = (end: End): void => {
        call.finish = undefined;
        try {
          resolve(this.#end(call, end));
        } catch (error) {
          reject(error);
        }
      };
      const { end } = call.spec.behaviour;
      if (ms === 0) return finish(end);
      const cancel = ms === undefined ? undefined : clock.setTimer(ms, () => finish(end), { keepAlive: false });
      call.finish = (early) => {
        cancel?.();
        finish(early);
      };
    });
  }

  /** What `fn` does to the world; a promise where it waits for it. */
  #do(deed: Deed, call: ShadowCall, running: Call): Promise<unknown> | undefined {
    if (deed.do === 'nested') return this.#nested(deed.deep, call, running);
    if (deed.do === 'settle') this.settle(call, deed.permits, 'requests');
    else if (deed.do === 'abort') this.deal({ kind: 'abort', signal: deed.signal });
    else if (deed.do === 'pause') this.deal({ kind: 'pause', ms: deed.ms });
    else this.call({ ...NOTHING, behaviour: PLAIN });
    return undefined;
  }

  #nested(isDeep: boolean, outer: ShadowCall, running: Call): Promise<unknown> {
    const { deadlineAt, deadlineWall, maxWaitAt } = outer;
    const behaviour: Behaviour = { ...PLAIN, deed: isDeep ? { do: 'nested', deep: false } : undefined };
    const spec = { ...outer.spec, behaviour };
    const call = this.#add(spec, outer.lane, { isNested: true, deadlineAt, deadlineWall, maxWaitAt });
    const answer = running.run(() => {
      this.#world.started(call);
      if (isDeep) return this.#nested(false, call, running).then(() => this.#end(call, { how: 'value' }));
      return this.#end(call, { how: 'value' });
    });
    this.#await(call, answer);
    return answer.catch(() => undefined);
  }

  #register(which: number): void {
    const world = this.#world;
    const policy = this.#policies[which % this.#policies.length]!;
    world.dispatcher.register(NAME, policy.input);
    world.policy = policy;
    world.isRegistered = true;
    for (const lane of world.current()) lane.replan(policy, world.now);
  }

  #pause(ms: number): void {
    const world = this.#world;
    world.dispatcher.pause(NAME, { for: ms });
    world.operatorUntil = Math.max(world.operatorUntil, world.now + ms);
    for (const lane of world.current()) lane.operatorUntil = world.operatorUntil;
  }

  #resume(all: boolean): void {
    const world = this.#world;
    world.dispatcher.resume(NAME, { all });
    world.operatorUntil = 0;
    for (const lane of world.current()) {
      lane.operatorUntil = 0;
      if (all) lane.hintedUntil = 0;
    }
    if (all) world.forgetUnread();
  }

  #forecast(calls: number): void {
    const world = this.#world;
    const told = world.dispatcher.forecast(NAME, { calls });
    if (!(told.firstStartInMs >= 0 && told.lastStartInMs >= told.firstStartInMs - 1e-3 && told.fits <= calls))
      world.fault(`a forecast of ${JSON.stringify(told)}`);
  }

  #pick(which: number, fits: (call: ShadowCall) => boolean): ShadowCall | undefined {
    const fitting = this.#world.calls.filter(fits);
    return fitting.length === 0 ? undefined : fitting[which % fitting.length];
  }
}

function costOf({ requests, tokens }: CallSpec): Record<string, number> | undefined {
  if (requests === undefined && tokens === undefined) return undefined;
  return { ...(requests === undefined ? {} : { requests }), ...(tokens === undefined ? {} : { tokens }) };
}
