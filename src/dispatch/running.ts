import { DUE_MS } from '../base/clock.ts';
import type { ActiveCall } from './active.ts';
import { Heap } from './heap.ts';

/** The calls in flight: how many hold a place, and which of them the lane has to act on, and when. */
export class Running {
  /** Calls that have started and not settled, orphans excluded. */
  inFlight = 0;
  /** Of these, those that hold a place (nested calls use that of their outer call). */
  places = 0;
  overdue = 0;
  orphaned = 0;
  /** Mean of how long calls ran, in milliseconds; the latest count most. */
  meanCallMs = 0;
  /** When a call last started, came to its end or settled. */
  lastMoveAt = 0;
  readonly #due = new Heap<ActiveCall>(isWatched, (call) => call.dueAt);

  start(call: ActiveCall, now: number): void {
    this.inFlight++;
    if (call.request.needsPlace) this.places++;
    this.lastMoveAt = now;
    if (call.dueAt !== Number.POSITIVE_INFINITY) this.watch(call);
  }

  /** From now on `call.dueAt` is watched. */
  watch(call: ActiveCall): void {
    this.#due.push(call);
  }

  /** The call has settled; true if it held its place until now. */
  settle(call: ActiveCall, now: number): boolean {
    const { state } = call;
    call.state = 'settled';
    this.#due.died(this.inFlight);
    this.lastMoveAt = now;
    const callMs = now - call.startedAt;
    this.meanCallMs = this.meanCallMs === 0 ? callMs : this.meanCallMs + 0.2 * (callMs - this.meanCallMs);
    if (state === 'orphaned') {
      this.orphaned--;
      return false;
    }
    if (state === 'overdue') this.overdue--;
    this.#leave(call);
    return true;
  }

  /** The caller has its answer; the call keeps its place until `graceAt`. */
  overstay(call: ActiveCall, graceAt: number, now: number): void {
    call.state = 'overdue';
    this.lastMoveAt = now;
    this.overdue++;
    call.dueAt = graceAt;
    if (graceAt !== Number.POSITIVE_INFINITY) this.watch(call);
  }

  /** The place is given back although the call has not settled. */
  orphan(call: ActiveCall, now: number): void {
    call.state = 'orphaned';
    this.overdue--;
    this.orphaned++;
    this.lastMoveAt = now;
    this.#leave(call);
  }

  /** A call whose end, or end of grace, has come. */
  nextDue(now: number): ActiveCall | undefined {
    const call = this.#due.top();
    return call !== undefined && call.dueAt <= now + DUE_MS ? call : undefined;
  }

  /** The next instant at which `nextDue` has something. */
  get dueAt(): number {
    return this.#due.top()?.dueAt ?? Number.POSITIVE_INFINITY;
  }

  /** Ends may have moved nearer. */
  rekey(): void {
    this.#due.rekey();
  }

  *[Symbol.iterator](): IterableIterator<ActiveCall> {
    yield* this.#due;
  }

  #leave(call: ActiveCall): void {
    this.inFlight--;
    if (call.request.needsPlace) this.places--;
  }
}

function isWatched(call: ActiveCall): boolean {
  return (call.state === 'running' || call.state === 'overdue') && call.dueAt !== Number.POSITIVE_INFINITY;
}
