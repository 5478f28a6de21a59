import type { DispatcherEvent } from './events.ts';
import { guarded, messageOf } from './text.ts';

export type Listener = (event: DispatcherEvent) => void;

/** Ids of a span that is active in the caller's context. */
export interface TraceIds {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * The one listener that may enrich events: telemetry. Everything here is called synchronously and,
 * for `queued`, `started` and entry refusals, in the caller's own async context.
 */
export interface EventTap {
  /** Whether every call must be told (metrics are collected). Asked on each call: must cost nothing. */
  readonly isMeasuring: () => boolean;
  /** Whether waits and refusals must be told (spans are recorded). */
  readonly isTracing: () => boolean;
  /** The caller's ids for this event: from the active context, or remembered from when the call was queued. */
  readonly traceOf: (event: DispatcherEvent) => TraceIds | undefined;
  /** The ids active right now. */
  readonly current: () => TraceIds | undefined;
  readonly take: (event: DispatcherEvent) => void;
}

/** Delivers events to telemetry first, then to every subscriber; a listener that throws harms nobody. */
export class EventBus {
  #listeners: readonly Listener[] = [];
  #tap: EventTap | undefined;
  readonly #wallNow: () => number;

  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

  setTap(tap: EventTap | undefined): void {
    this.#tap = tap;
  }

  /** Whether anybody has subscribed. */
  get isHeard(): boolean {
    return this.#listeners.length > 0;
  }

  /** Events of calls that neither waited nor were refused are built only where this says so. */
  get wantsCalls(): boolean {
    return this.#listeners.length > 0 || (this.#tap?.isMeasuring() ?? false);
  }

  /** Likewise for calls that wait or are refused. */
  get wantsWaits(): boolean {
    return this.wantsCalls || (this.#tap?.isTracing() ?? false);
  }

  subscribe(listener: Listener): () => void {
    const entry: Listener = (event) => listener(event);
    this.#listeners = [...this.#listeners, entry];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== entry);
    };
  }

  trace(): TraceIds | undefined {
    return this.#tap?.current();
  }

  emit(event: DispatcherEvent): void {
    const tap = this.#tap;
    if (tap !== undefined) {
      try {
        tap.take(event);
      } catch (error) {
        this.#failed(error, event);
      }
    }
    if (this.#listeners.length === 0) return;
    const ids = tap?.traceOf(event);
    const told = ids === undefined ? event : { ...event, ...ids };
    for (const listener of this.#listeners)
      guarded(
        () => listener(told),
        (error) => this.#failed(error, event),
      );
  }

  #failed(error: unknown, { type, downstream }: DispatcherEvent): void {
    if (type === 'listener-failed') return;
    this.emit({ at: this.#wallNow(), downstream, type: 'listener-failed', detail: messageOf(error) });
  }
}
