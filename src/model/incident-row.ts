import type { HoldCause } from '../base/words.ts';
import { type HoldChoice, type HoldPlan, openingHold, saidHold, spreadMs } from './cooldown.ts';
import {
  type Effect,
  type Hint,
  type Origin,
  type RowEvent,
  type RowKind,
  type RowState,
  ruleFor,
} from './incident-rules.ts';

/**
 * When a call started: the lane's count of incidents at its start; for one that was made elsewhere the
 * instant (monotonic milliseconds), or undefined where nobody knows.
 */
export type CallStart = number | { readonly at: number } | undefined;

/** An answer that says no. */
export interface Refusal {
  readonly start: CallStart;
  /** Milliseconds, 0 or more; undefined where the server named no time. */
  readonly hintMs: number | undefined;
}

/** What a refusal has come to. */
export interface Refused {
  /** It began an incident; otherwise it belongs to the last one. */
  readonly isNew: boolean;
  /** What is to be held now; undefined where nothing changes. */
  readonly hold: { readonly cause: HoldCause; readonly until: number } | undefined;
  /** The server said longer than `maxHold`. */
  readonly isCapped: boolean;
}

const NO_EFFECT: readonly Effect[] = [];

/** Incidents of one kind, and what is held for them. Pure: instants go in, instants come out. */
export class IncidentRow {
  readonly kind: RowKind;
  /** Incidents without a success in between that began after the hold. */
  inARow = 0;
  /** When its own hold ends; monotonic milliseconds. */
  heldUntil = Number.NEGATIVE_INFINITY;
  /** The lane's count of incidents with the last of these. */
  #epoch = 0;
  #beganAt = Number.NEGATIVE_INFINITY;
  /** The end of what was held without a gap since the last incident began: who started later has seen it end. */
  #freeFrom = Number.NEGATIVE_INFINITY;
  /** This worker's part of the spread: one for all answers of an incident, or the latest of many draws would win everywhere. */
  #share = 0;

  constructor(kind: RowKind) {
    this.kind = kind;
  }

  stateAt(now: number): RowState {
    if (now < this.heldUntil) return this.inARow > 0 ? 'held' : 'cleared';
    return this.inARow > 0 ? 'asking' : 'calm';
  }

  /**
   * Whether a call started before the hold of the last incident or after it. A start during the hold, which
   * only a call that was made elsewhere can have, has not seen it end: it counts as before.
   */
  originOf(start: CallStart): Origin {
    if (start === undefined) return 'unknown';
    const isAfter =
      typeof start === 'number' ? start >= this.#epoch : start.at > this.#beganAt && start.at >= this.#freeFrom;
    return isAfter ? 'after' : 'before';
  }

  /** The server has said no; `epoch` is the count of a new incident, should this be one; `share` draws from [0, 1]. */
  refused({ start, hintMs }: Refusal, now: number, plan: HoldPlan, epoch: number, share: () => number): Refused {
    const does = this.#effects(`refused ${this.originOf(start)} ${hintOf(hintMs)}`, now);
    const isNew = does.includes('open');
    if (isNew) {
      this.#begin(epoch, now, plan.workers > 1 ? inUnit(share()) : 0);
      this.inARow++;
    }
    const { kind, inARow } = this;
    let choice: HoldChoice | undefined;
    if (does.includes('hold')) choice = openingHold(kind, plan, inARow, hintMs);
    if (does.includes('extend') && hintMs !== undefined) choice = saidHold(kind, plan, hintMs);
    if (choice === undefined) return { isNew, hold: undefined, isCapped: false };
    return { isNew, hold: this.#hold(choice, plan, now), isCapped: choice.isCapped };
  }

  /** The same where nothing is ever held: an incident is counted, the row is not. */
  noted({ start, hintMs }: Refusal, now: number, epoch: number): Refused {
    const isNew = this.#effects(`refused ${this.originOf(start)} ${hintOf(hintMs)}`, now).includes('open');
    if (isNew) this.#begin(epoch, now, 0);
    return { isNew, hold: undefined, isCapped: false };
  }

  succeeded(start: CallStart, now: number): void {
    if (this.#effects(`success ${this.originOf(start)}`, now).includes('clear')) this.inARow = 0;
  }

  /** Goes on with another's row; `epoch`: the count of incidents from which on calls have started after its last. */
  takeOver(from: IncidentRow, epoch: number): void {
    this.inARow = from.inARow;
    this.heldUntil = from.heldUntil;
    this.#epoch = epoch;
    this.#beganAt = from.#beganAt;
    this.#freeFrom = from.#freeFrom;
    this.#share = from.#share;
  }

  /** All that the server asked for has been dropped. */
  resumed(now: number): void {
    if (!this.#effects('resume all', now).includes('release')) return;
    this.heldUntil = now;
    this.#freeFrom = Math.min(this.#freeFrom, now);
  }

  #effects(event: RowEvent, now: number): readonly Effect[] {
    return ruleFor(this.stateAt(now), event)?.does ?? NO_EFFECT;
  }

  #begin(epoch: number, now: number, share: number): void {
    this.#epoch = epoch;
    this.#beganAt = now;
    this.#freeFrom = Math.max(this.heldUntil, now);
    this.#share = share;
  }

  #hold(choice: HoldChoice, plan: HoldPlan, now: number): Refused['hold'] {
    const until = now + spreadMs(choice, plan, this.#share);
    const { cause } = choice;
    // "Now" is a value, and holds nothing: the next start needs only its permits.
    if (until <= now) return undefined;
    if (now <= this.#freeFrom) this.#freeFrom = Math.max(this.#freeFrom, until);
    this.heldUntil = Math.max(this.heldUntil, until);
    return { cause, until };
  }
}

function hintOf(hintMs: number | undefined): Hint {
  if (hintMs === undefined) return 'none';
  return hintMs > 0 ? 'later' : 'now';
}

/** A source of random numbers is user code: nothing that it says lets a lane start earlier. */
function inUnit(value: number): number {
  return value >= 0 ? Math.min(value, 1) : 0;
}
