import { LONGEST_TIMER_MS } from '../base/clock.ts';
import type { HoldCause } from '../base/words.ts';
import type { Gate } from '../model/gate.ts';
import type { LanePorts } from './ports.ts';

/** What is said of a hold besides its cause and its end. */
interface HoldFacts {
  readonly incidentId?: string | undefined;
  readonly reason?: string | undefined;
}

/** Tells of a lane's holds: when one begins or is extended, and when nothing is held any more. */
export class HoldNews {
  readonly #lane: { readonly name: string; readonly gate: Gate; readonly ports: LanePorts };
  /** Set while a hold was told whose end was not. It keeps no process alive. */
  #cancel: (() => void) | undefined;

  constructor(lane: { readonly name: string; readonly gate: Gate; readonly ports: LanePorts }) {
    this.#lane = lane;
  }

  /** `until`: monotonic milliseconds. */
  held(cause: HoldCause, until: number, now: number, facts: HoldFacts): void {
    const { ports, name } = this.#lane;
    const at = ports.clock.wallNow();
    ports.bus.emit({ at, downstream: name, type: 'held', cause, until: at + (until - now), ...defined(facts) });
    this.#await(now);
  }

  /** A hold has been ended before its time: tells so, if it was the last. */
  check(): void {
    if (this.#cancel === undefined) return;
    const { gate, ports, name } = this.#lane;
    const now = ports.clock.now();
    if (gate.isHeld(now)) {
      this.#await(now);
      return;
    }
    this.stop();
    const at = ports.clock.wallNow();
    ports.bus.emit({ at, downstream: name, type: 'resumed', cause: gate.holds.cause, until: at });
  }

  /** Lets go of what would fire later. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #await(now: number): void {
    this.stop();
    const { gate, ports } = this.#lane;
    const left = Math.min(Math.max(gate.heldUntil - now, 1), LONGEST_TIMER_MS);
    this.#cancel = ports.clock.setTimer(left, () => this.check(), { keepAlive: false });
  }
}

/** The fields that are known. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
