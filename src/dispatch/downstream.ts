import { InvalidCall } from '../base/errors.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import { show } from '../base/text.ts';
import type { Mode } from '../base/words.ts';
import { ActiveLease } from './active.ts';
import { isForgettable } from './forgettable.ts';
import { Lane } from './lane.ts';
import type { LanePorts } from './ports.ts';
import { type Refusal, tooManyAccounts } from './refusals.ts';
import { plainRequest, type Request } from './request.ts';
import type { Kept } from './shadow.ts';
import { Tally } from './tally.ts';
import type { Top } from './top.ts';

/** One downstream: its own lane, and one more for each account whose quota is counted apart. */
export class Downstream {
  plan: DownstreamPlan;
  /** In force now. */
  mode: Mode = 'enforce';
  readonly lane: Lane;
  readonly ports: LanePorts;
  /** What the lanes counted that are not kept any more. */
  readonly forgotten = new Tally();
  readonly #accounts = new Map<string, Lane>();
  #pausedUntil = 0;
  #pauseReason: string | undefined;
  #shut: Refusal | undefined;
  /** What was said at run time; `policy`: that the policy is to decide. */
  #said: Mode | 'policy';
  readonly #kept: Kept = { count: 0 };

  constructor(plan: DownstreamPlan, ports: LanePorts, said: Mode | 'policy' = 'policy') {
    this.plan = plan;
    this.ports = ports;
    this.lane = new Lane(plan, ports);
    this.#said = said;
    this.#setMode();
  }

  get accounts(): number {
    return this.#accounts.size;
  }

  *lanes(): IterableIterator<Lane> {
    yield this.lane;
    yield* this.#accounts.values();
  }

  /** The lane of an account, made where it is missing; throws where it may not be. */
  laneOf(account: unknown): Lane {
    if (typeof account !== 'string' || account === '') {
      const found = account === '' ? 'an empty text (a variable that is not set?)' : show(account);
      throw new InvalidCall(`${this.plan.name}: ctx.account: expected a name, found ${found}`, {
        downstream: this.plan.name,
      });
    }
    let lane = this.#accounts.get(account);
    if (lane !== undefined) return lane;
    if (this.#accounts.size >= this.plan.maxAccounts) this.#forget();
    lane = new Lane(this.plan, this.ports, account);
    lane.setMode(this.mode, this.#kept);
    if (this.#pausedUntil > this.ports.clock.now()) lane.pause(this.#pausedUntil, this.#pauseReason);
    if (this.#shut !== undefined) lane.shut(this.#shut, true);
    this.#accounts.set(account, lane);
    return lane;
  }

  pause(ms: number, reason: string | undefined): void {
    const until = this.ports.clock.now() + ms;
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    this.#pauseReason = reason;
    for (const lane of this.lanes()) lane.pause(until, reason);
  }

  resume(all: boolean): void {
    this.#pausedUntil = 0;
    for (const lane of this.lanes()) lane.resume(all);
  }

  /** The reason of the operator's pause, while it lasts. */
  get pauseReason(): string | undefined {
    return this.#pausedUntil > this.ports.clock.now() ? this.#pauseReason : undefined;
  }

  /** Who uses it most: by the books, while it is only observed. */
  get top(): Top {
    return this.#kept.top ?? this.ports.top;
  }

  /** Another mode from now on, whatever the policy says; `policy`: the policy's again. */
  say(mode: Mode | 'policy'): void {
    this.#said = mode;
    this.#setMode();
  }

  replan(plan: DownstreamPlan): void {
    this.plan = plan;
    this.#setMode();
    this.ports.top.replan(plan);
    this.#kept.top?.replan(plan);
    for (const lane of this.lanes()) lane.replan(plan);
  }

  shut(refusal: Refusal, waiters: boolean): void {
    this.#shut = refusal;
    for (const lane of this.lanes()) lane.shut(refusal, waiters);
  }

  /** Takes calls again. */
  reopen(): void {
    this.#shut = undefined;
    for (const lane of this.lanes()) lane.reopen(this.#kept);
  }

  get isShut(): boolean {
    return this.#shut !== undefined;
  }

  /** Refuses those that wait and match, in all its lanes; how many. */
  cancel(matches: (request: Request) => boolean, refusal: Refusal): number {
    let count = 0;
    for (const lane of [...this.lanes()]) count += lane.cancel(matches, refusal);
    return count;
  }

  get isAtRest(): boolean {
    for (const lane of this.lanes()) if (!lane.isAtRest) return false;
    return true;
  }

  /** Calls that have started and not settled, whether they still hold a place or not. */
  get inFlight(): number {
    let count = 0;
    for (const { running } of this.lanes()) count += running.inFlight + running.orphaned;
    return count;
  }

  /** Somebody holds a lease: those always have an end, so that they are among the calls that are watched for one. */
  get isLeased(): boolean {
    for (const { running } of this.lanes()) for (const call of running) if (call instanceof ActiveLease) return true;
    return false;
  }

  /** Knows nothing that one made anew would not. */
  get isForgettable(): boolean {
    for (const lane of this.lanes()) if (!isForgettable(lane)) return false;
    return this.#pausedUntil <= this.ports.clock.now();
  }

  /** The lane of an account for a look at it: one that does not exist yet is not kept. */
  peek(account: string | undefined): Lane {
    if (account === undefined) return this.lane;
    return this.#accounts.get(account) ?? new Lane(this.plan, this.ports);
  }

  #setMode(): void {
    const mode = this.#said === 'policy' ? (this.plan.mode ?? 'enforce') : this.#said;
    if (mode === this.mode) return;
    this.mode = mode;
    this.#kept.top = undefined;
    const isPaused = this.#pausedUntil > this.ports.clock.now();
    for (const lane of this.lanes()) {
      lane.setMode(mode, this.#kept);
      if (isPaused) lane.pause(this.#pausedUntil, this.#pauseReason);
    }
  }

  /** Lets go of the lanes that know nothing worth keeping; throws where there is none. */
  #forget(): void {
    for (const [account, lane] of this.#accounts) {
      if (!isForgettable(lane)) continue;
      lane.dispose();
      this.forgotten.add(lane.tally);
      this.#accounts.delete(account);
    }
    if (this.#accounts.size < this.plan.maxAccounts) return;
    const { clock } = this.ports;
    throw tooManyAccounts(this.plan.maxAccounts).make({
      downstream: this.plan.name,
      request: plainRequest(this.plan, clock.now()),
      wallNow: clock.wallNow(),
      waitedMs: 0,
    });
  }
}
