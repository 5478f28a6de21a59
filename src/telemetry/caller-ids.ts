import { context } from '@opentelemetry/api';
import type { TraceIds } from '../base/bus.ts';
import type { CallEvent } from '../base/events.ts';
import { idsIn } from './wait-spans.ts';

/** Most running calls whose ids are kept. A listener that leaves never sees the ends that would free them. */
const MOST_KEPT = 10_000;

/** Who called: read while the caller's context is active, kept for ends that a timer or an abort brings. */
export class CallerIds {
  readonly #running = new Map<number, TraceIds>();
  /** The event that was taken last, and the ids kept for it. */
  #taken: CallEvent | undefined;
  #kept: TraceIds | undefined;

  /** Calls whose ids are kept. */
  get size(): number {
    return this.#running.size;
  }

  /** Told before `of(event)`: `waited` are the ids kept while the call waited. */
  take(event: CallEvent, waited: TraceIds | undefined): void {
    this.#taken = event;
    this.#kept = waited;
    if (this.#running.size === 0 || (event.type !== 'settled' && event.type !== 'aborted')) return;
    const ran = this.#running.get(event.callId);
    if (ran === undefined) return;
    this.#running.delete(event.callId);
    this.#kept ??= ran;
  }

  of(event: CallEvent): TraceIds | undefined {
    if (event.type === 'would-start' || event.type === 'would-refuse') return this.#running.get(event.callId);
    const kept = this.#taken === event ? this.#kept : undefined;
    if (kept === undefined && isFromElsewhere(event)) return undefined;
    const ids = kept ?? idsIn(context.active());
    if (event.type === 'started' && ids !== undefined) this.#keep(event.callId, ids);
    return ids;
  }

  forget(): void {
    this.#running.clear();
    this.#taken = this.#kept = undefined;
  }

  #keep(callId: number, ids: TraceIds): void {
    this.#running.set(callId, ids);
    if (this.#running.size <= MOST_KEPT) return;
    for (const oldest of this.#running.keys()) {
      this.#running.delete(oldest);
      return;
    }
  }
}

/** Whether a timer or an abort brought this end of a running call: what is active then is another call's span. */
function isFromElsewhere(event: CallEvent): boolean {
  if (event.type === 'settled') return event.code !== undefined;
  return event.type === 'aborted' && event.started === true;
}
