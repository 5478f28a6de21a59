import { getEventListeners } from 'node:events';
import type { CallEvent, DispatcherEvent } from '../../../src/base/events.ts';
import { createDispatcher, type Dispatcher } from '../../../src/dispatcher.ts';
import type { PolicyInput } from '../../../src/policy/input.ts';
import { type EventRecord, ManualClock, recordEvents } from '../../../src/testing.ts';
import { Checks } from './checks.ts';
import { outcomeOf } from './outcomes.ts';
import type { TestPolicy } from './policies.ts';
import { type ShadowCall, ShadowLane } from './shadow.ts';
import { type End, SIGNALS, type Span } from './steps.ts';

/** The only downstream of a world. */
export const NAME = 'api';

/** A dispatcher on a manual clock, its shadow, and everything that was seen of it. */
export class World {
  readonly clock = new ManualClock();
  readonly dispatcher: Dispatcher;
  readonly record: EventRecord;
  readonly calls: ShadowCall[] = [];
  readonly lanes = new Map<string, ShadowLane>();
  readonly signals: AbortController[];
  readonly faults: string[] = [];
  readonly checks: Checks;
  policy: TestPolicy;
  generation = 0;
  isRegistered = true;
  isClosing = false;
  isClosed = false;
  /** The pause of the whole downstream: it counts for lanes that are yet to be made, too. */
  operatorUntil = 0;
  /** What outcomes of this turn say; in force once the dispatcher can have read them. */
  #unread: (() => void)[] = [];
  readonly #byTool = new Map<string, ShadowCall>();
  readonly #byId = new Map<number, ShadowCall>();
  #used: AbortController[];

  constructor(policy: TestPolicy) {
    this.policy = policy;
    this.signals = Array.from({ length: SIGNALS }, () => new AbortController());
    this.#used = [...this.signals];
    this.dispatcher = createDispatcher({ downstreams: { [NAME]: policy.input } } as PolicyInput, {
      clock: this.clock,
      env: {},
      alertSinks: [],
      random: () => 0.5,
    });
    this.record = recordEvents(this.dispatcher);
    this.dispatcher.subscribe((event) => this.#hear(event));
    this.checks = new Checks(this);
  }

  get now(): number {
    return this.clock.now();
  }

  fault(text: string): void {
    this.faults.push(`at ${this.now} ms: ${text}`);
  }

  lane(account: string | undefined): ShadowLane {
    const key = `${this.generation}/${account ?? ''}`;
    let lane = this.lanes.get(key);
    if (lane === undefined) {
      lane = new ShadowLane(key, this.generation, account, this.policy, this.now);
      lane.operatorUntil = this.operatorUntil;
      this.lanes.set(key, lane);
    }
    return lane;
  }

  /** Lanes of the downstream as it is registered now. */
  current(): ShadowLane[] {
    return [...this.lanes.values()].filter((lane) => lane.generation === this.generation);
  }

  add(call: ShadowCall): void {
    this.calls.push(call);
    if (!call.isNested) this.#byTool.set(`c${call.id}`, call);
  }

  /** The signal of that number, a fresh one once it has fired. */
  signal(index: number): AbortController {
    const controller = this.signals[index]!;
    if (!controller.signal.aborted) return controller;
    const fresh = new AbortController();
    this.signals[index] = fresh;
    this.#used.push(fresh);
    return fresh;
  }

  get listeners(): number {
    return this.#used.reduce((sum, { signal }) => sum + getEventListeners(signal, 'abort').length, 0);
  }

  span({ of, n }: Span): number {
    const quota = this.policy.quotas[0];
    if (of === 'ms') return n;
    if (quota === undefined) return n * 250;
    return of === 'window' ? n * quota.windowMs : (n * quota.windowMs) / (quota.limit * this.policy.utilization);
  }

  /** The step in which `fn` starts; of a lease, its event: whoever awaits it hears of it a little later. */
  started(call: ShadowCall): void {
    call.runs++;
    call.state = 'running';
    this.checks.start(call);
  }

  /** `fn` is over: what it says counts once the dispatcher can have read it, at the end of this turn. */
  over(call: ShadowCall, end: End): void {
    call.state = 'over';
    if (call.isNested) return;
    const now = this.now;
    this.#unread.push(() => this.learn(call.lane, end, call.startedAt, now));
  }

  /** A 429 or 529 holds its lane: by its own word, or by the cooldown. */
  learn(lane: ShadowLane, end: End, startedAt: number, now: number): void {
    const said = outcomeOf(end);
    if (said === undefined) return;
    const base = Number(this.policy.input.cooldown?.base ?? 2_000);
    const isNew = startedAt > lane.lastIncidentAt;
    lane.lastIncidentAt = now;
    if (said.hintMs !== undefined) lane.hintedUntil = Math.max(lane.hintedUntil, now + said.hintMs);
    else if (isNew) lane.hintedUntil = Math.max(lane.hintedUntil, now + base);
  }

  forgetUnread(): void {
    this.#unread = [];
  }

  /** Lets everything settle that can without time passing, then looks. */
  async settle(): Promise<void> {
    await this.clock.advance(0);
    this.look();
  }

  look(): void {
    for (const read of this.#unread.splice(0)) read();
    for (const call of this.calls) if (call.state === 'over') call.isKnownOver = true;
    this.checks.look();
  }

  /** Moves time on, timer by timer, and looks after each; after so many, without looking. */
  async advance(ms: number, looks = 40): Promise<void> {
    const until = this.now + ms;
    await this.settle();
    for (let i = 0; i < looks && this.now < until; i++) {
      const next = this.clock.nextTimerInMs ?? Number.POSITIVE_INFINITY;
      await this.clock.advance(Math.min(next, until - this.now));
      this.look();
    }
    if (this.now < until) await this.clock.advance(until - this.now);
    this.look();
  }

  #hear(event: DispatcherEvent): void {
    if (!('callId' in event)) return;
    const call = this.#callOf(event);
    if (call === undefined) return;
    if (event.type === 'started' && call.spec.isLease && !call.isNested) this.started(call);
    this.checks.event(call, event);
    const isOver = event.type === 'settled' || (event.type === 'aborted' && event.started === true);
    if (isOver && call.state === 'running') {
      const grace = this.policy.input.leaseGrace ?? 30_000;
      call.orphanAt = grace === 'never' ? Number.POSITIVE_INFINITY : this.now + Number(grace);
    }
  }

  /** Nested calls carry their outer call's tool: the first id seen is the outer's. */
  #callOf({ callId, tool }: CallEvent): ShadowCall | undefined {
    const known = this.#byId.get(callId);
    if (known !== undefined || tool === undefined) return known;
    const call = this.#byTool.get(tool);
    if (call === undefined || call.callId !== undefined) return undefined;
    call.callId = callId;
    this.#byId.set(callId, call);
    return call;
  }
}
