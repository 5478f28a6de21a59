import { vi } from 'vitest';
import { buildAlert } from '../../../src/alerts/alert.ts';
import { createOutbox, type Outbox } from '../../../src/alerts/outbox.ts';
import { DeliveryFailed, type PacedSink } from '../../../src/alerts/sink.ts';
import type { Alert } from '../../../src/base/alert.ts';
import { createSystemClock } from '../../../src/base/clock.ts';
import { factsOf, origin } from '../../alerts/facts.ts';

/** What a receiver does with one delivery. */
export type Answer =
  | { readonly does: 'takes' | 'throws' | 'hangs' | 'fails' | 'refuses' | 'answers 500' | 'closes' }
  | { readonly does: 'takes slowly'; readonly ms: number }
  | { readonly does: 'asks to wait'; readonly ms: number };

export interface Step {
  readonly afterMs: number;
  readonly downstream: number;
  readonly flush: boolean;
  readonly isUpdate: boolean;
}

export interface Script {
  readonly spacingMs: number;
  readonly mostAtOnce: number | undefined;
  readonly answers: readonly Answer[];
  readonly steps: readonly Step[];
  readonly jitter: number;
}

/** One sink on a clock that only a test moves (Bottleneck's timers too), which notes what must not be. */
export class OutboxWorld {
  readonly faults: string[] = [];
  readonly delivered: string[] = [];
  readonly refused = new Set<string>();
  readonly #refusedInBatch = new Set<string>();
  readonly outbox: Outbox;
  sent = 0;
  readonly #script: Script;
  readonly #last = new Map<string, string>();
  readonly #lastSeen = new Map<string, number>();
  #turn = 0;
  #atOnce = 0;
  #startedAt = Number.NEGATIVE_INFINITY;
  #notBefore = 0;
  #isWell = false;
  #isClosed = false;

  constructor(script: Script) {
    this.#script = script;
    const { spacingMs, mostAtOnce, jitter } = script;
    const one: PacedSink = {
      name: 'sink',
      spacingMs,
      deliver: (alert, signal) => this.#take([alert], signal) as PromiseLike<void>,
    };
    const sink: PacedSink =
      mostAtOnce === undefined
        ? one
        : { ...one, mostAtOnce, deliverAll: (alerts, signal) => this.#take(alerts, signal) as PromiseLike<void> };
    this.outbox = createOutbox({
      clock: createSystemClock(),
      sinks: [sink],
      emit: () => undefined,
      random: () => jitter,
    });
  }

  /** Plays the script, then lets the receiver be well for a while. */
  async play(closeEarly: boolean): Promise<void> {
    for (const step of this.#script.steps) {
      await vi.advanceTimersByTimeAsync(step.afterMs);
      this.#send(step);
      if (step.flush) void this.outbox.flush();
      this.checkSums();
    }
    if (closeEarly) return this.#close();
    this.#isWell = true;
    await vi.advanceTimersByTimeAsync(600_000);
    this.checkSums();
    if (this.outbox.pending() !== 0) this.faults.push(`${this.outbox.pending()} still wait`);
    for (const [key, text] of this.#last) {
      if (!this.delivered.includes(text) && !this.refused.has(text))
        this.faults.push(`the last word of ${key} was lost`);
    }
    return this.#close();
  }

  checkSums(): void {
    const [state] = this.outbox.sinks();
    const { pending, delivered, replaced, dropped } = state!;
    if (pending + delivered + replaced + dropped !== this.sent) {
      this.faults.push(`${pending} + ${delivered} + ${replaced} + ${dropped} of ${this.sent}`);
    }
    if (delivered !== this.delivered.length) this.faults.push(`${delivered} delivered, ${this.delivered.length} taken`);
  }

  async #close(): Promise<void> {
    const closed = this.outbox.close(5_000);
    await vi.advanceTimersByTimeAsync(5_001);
    await closed;
    this.#isClosed = true;
    this.checkSums();
    // A sink that takes its time has timers of its own, and the clock keeps a cancelled one for the next use.
    await vi.advanceTimersByTimeAsync(10_000);
    if (vi.getTimerCount() > 0) this.faults.push(`${vi.getTimerCount()} timers after the end`);
    this.#send({ afterMs: 0, downstream: 0, flush: false, isUpdate: false });
    await vi.advanceTimersByTimeAsync(100_000);
    this.checkSums();
  }

  #send({ downstream, isUpdate }: Step): void {
    const name = `downstream-${downstream}`;
    const incident = { id: 'incident', startedAt: 0, throttles: ++this.sent, inARow: 1 };
    const alert = buildAlert(factsOf({ downstream: name, incident }), origin);
    this.#last.set(name, textOf(alert));
    this.outbox.readers[0]!.tell(alert, isUpdate);
  }

  #take(alerts: readonly Alert[], signal: AbortSignal): unknown {
    const now = performance.now();
    const { spacingMs, answers, mostAtOnce = 1 } = this.#script;
    if (this.#isClosed) this.faults.push('a delivery after the end');
    if (this.#atOnce > 0) this.faults.push('two deliveries at once');
    if (now - this.#startedAt < spacingMs) this.faults.push(`${now - this.#startedAt} ms after the last`);
    if (now < this.#notBefore) this.faults.push(`${this.#notBefore - now} ms too early`);
    if (alerts.length > mostAtOnce || new Set(alerts.map(({ downstream }) => downstream)).size < alerts.length) {
      this.faults.push('a batch that is none');
    }
    if (alerts.length > 1 && alerts.some((alert) => this.#refusedInBatch.has(textOf(alert)))) {
      this.faults.push('what was refused in a batch was sent in one again');
    }
    this.#startedAt = now;
    const answer: Answer = this.#isWell
      ? { does: 'takes' }
      : (answers[this.#turn++ % answers.length] ?? { does: 'takes' });
    if (answer.does === 'throws') throw new Error('no');
    this.#atOnce += 1;
    signal.addEventListener('abort', () => {
      this.#atOnce -= 1;
    });
    return this.#answer(answer, alerts, signal).finally(() => {
      if (!signal.aborted) this.#atOnce -= 1;
    });
  }

  async #answer(answer: Answer, alerts: readonly Alert[], signal: AbortSignal): Promise<unknown> {
    if (answer.does === 'hangs') return new Promise(() => undefined);
    if (answer.does === 'takes slowly') await new Promise((resolve) => setTimeout(resolve, answer.ms));
    await Promise.resolve();
    if (signal.aborted) return undefined;
    switch (answer.does) {
      case 'asks to wait':
        this.#notBefore = performance.now() + answer.ms;
        throw new DeliveryFailed('429', { isRetryable: true, status: 429, retryAfterMs: answer.ms });
      case 'refuses':
        if (alerts.length === 1) this.refused.add(textOf(alerts[0]!));
        else for (const alert of alerts) this.#refusedInBatch.add(textOf(alert));
        throw new DeliveryFailed('400', { isRetryable: false, status: 400 });
      case 'fails':
        throw new DeliveryFailed('503', { isRetryable: true, status: 503 });
      case 'closes':
        throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } });
      case 'answers 500':
        return { status: 500, ok: false };
      default:
        for (const alert of alerts) this.#note(alert);
        return undefined;
    }
  }

  #note(alert: Alert): void {
    const { downstream, incident } = alert;
    if (incident.throttles < (this.#lastSeen.get(downstream) ?? 0))
      this.faults.push(`${downstream}: older after newer`);
    this.#lastSeen.set(downstream, incident.throttles);
    this.delivered.push(textOf(alert));
  }
}

function textOf({ downstream, incident }: Alert): string {
  return `${downstream} ${incident.throttles}`;
}
