import type { Alert, AlertSink } from '../base/alert.ts';
import type { Clock } from '../base/clock.ts';
import type { DispatcherEvent } from '../base/events.ts';
import type { SinkSnapshot } from '../base/snapshot.ts';
import { failureOf } from './failure.ts';
import type { Reader } from './incidents.ts';
import { Mailbox } from './mailbox.ts';
import type { PacedSink } from './sink.ts';

export interface OutboxOptions {
  readonly clock: Clock;
  readonly sinks: readonly AlertSink[];
  readonly emit: (event: DispatcherEvent) => void;
  /** Spreads retries; gives [0, 1). */
  readonly random?: (() => number) | undefined;
  /** A sink has failed for a while or lost an alert: by its label, what happened. */
  readonly onTrouble?: ((label: string, detail: string) => void) | undefined;
  /** It works again. */
  readonly onRecovery?: ((label: string) => void) | undefined;
}

/** Delivers alerts to sinks, off the call path: nothing here throws, and nothing is awaited by a call. */
export interface Outbox {
  /** One for each sink, in their order. */
  readonly readers: readonly Reader[];
  /** To every sink that accepts it. */
  readonly send: (alert: Alert) => void;
  /** Tries everything that waits once and resolves when each has gone out or failed. */
  readonly flush: () => Promise<void>;
  /** `flush`, for `withinMs` at most; then drops and counts what is left. Later alerts are dropped too. */
  readonly close: (withinMs: number) => Promise<void>;
  /** Alerts that have not gone out yet, of all sinks. */
  readonly pending: () => number;
  /** Alerts that never went out, by label of sink. */
  readonly dropped: () => Record<string, number>;
  readonly sinks: () => SinkSnapshot[];
}

const LONGEST_NAME = 60;

export function createOutbox(options: OutboxOptions): Outbox {
  const { clock } = options;
  const labels = new Set<string>();
  const boxes = options.sinks.map((sink) => {
    const label = labelOf(sink, labels);
    labels.add(label);
    return openBox(sink, label, options);
  });
  const mailboxes = boxes.map(({ mailbox }) => mailbox);
  const readers = boxes.map(({ reader }) => reader);
  const flush = async (patienceMs: number): Promise<void> => {
    await Promise.all(mailboxes.map((mailbox) => mailbox.flush(patienceMs)));
  };
  return {
    readers,
    send: (alert) => {
      for (const reader of readers) if (reader.accepts(alert)) reader.tell(alert, false);
    },
    flush: () => flush(0),
    close: async (withinMs) => {
      const isWorthIt = withinMs > 0 && mailboxes.some(({ pending }) => pending > 0);
      if (isWorthIt) await within(clock, withinMs, flush(withinMs));
      for (const mailbox of mailboxes) mailbox.dispose();
    },
    pending: () => mailboxes.reduce((sum, mailbox) => sum + mailbox.pending, 0),
    dropped: () => Object.fromEntries(mailboxes.map(({ label, tally }) => [label, tally.dropped])),
    sinks: () => mailboxes.map((mailbox) => stateOf(mailbox, clock)),
  };
}

/** What `downstream` says in an alert about a sink. */
export function nameOfSink(label: string): string {
  return `sink:${label}`;
}

function openBox(sink: PacedSink, label: string, options: OutboxOptions): { mailbox: Mailbox; reader: Reader } {
  const { clock, emit, random = Math.random } = options;
  const tellFailure = (detail: string, downstream: string): void =>
    emit({ at: clock.wallNow(), downstream, type: 'sink-failed', detail });
  const mailbox = new Mailbox(sink, label, {
    clock,
    random,
    onFailure: (detail, alert) => tellFailure(detail, alert.downstream),
    onTrouble: (detail) => options.onTrouble?.(label, detail),
    onRecovery: () => options.onRecovery?.(label),
  });
  let isFilterReported = false;
  const filter = safely(sink, (error, downstream) => {
    if (isFilterReported) return;
    isFilterReported = true;
    const { kind } = failureOf(error, clock.wallNow());
    tellFailure(`${label}: accepts: ${kind}; it gets every alert for which that fails`, downstream);
  });
  const own = nameOfSink(label);
  const accepts = (alert: Alert): boolean =>
    alert.name === 'SinkFailing' && alert.downstream === own ? false : filter(alert);
  const repeatMs =
    sink.repeatMs !== undefined && sink.repeatMs > 0 ? Math.max(sink.repeatMs, LEAST_REPEAT_MS) : undefined;
  const reader: Reader = {
    repeatMs,
    accepts,
    tell: (alert, isUpdate) => mailbox.send(alert, isUpdate),
    refresh: (alert) => mailbox.refresh(alert),
    withdraw: (alert) => mailbox.withdraw(alert),
  };
  return { mailbox, reader };
}

/** Nobody forgets an incident within a second. */
const LEAST_REPEAT_MS = 1_000;

/** A filter that fails lets everything through: one alert too many is better than one that nobody gets. */
function safely(sink: PacedSink, failed: (error: unknown, downstream: string) => void): (alert: Alert) => boolean {
  return (alert) => {
    if (sink.accepts === undefined) return true;
    try {
      const answer: unknown = sink.accepts(alert);
      if (typeof answer === 'boolean') return answer;
      Promise.resolve(answer).catch(() => undefined);
      return Boolean(answer);
    } catch (error) {
      failed(error, alert.downstream);
      return true;
    }
  };
}

/** Its name, with a number where another sink has it: `slack`, `slack#2`. */
function labelOf({ name }: AlertSink, taken: ReadonlySet<string>): string {
  const plain = String(name)
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, LONGEST_NAME);
  let label = plain;
  for (let n = 2; taken.has(label); n++) label = `${plain}#${n}`;
  return label;
}

function stateOf({ label, pending, tally, health, pausedUntil }: Mailbox, clock: Clock): SinkSnapshot {
  const { failing } = health;
  const leftMs = pausedUntil - clock.now();
  const nextAt = leftMs > 0 ? { nextAt: clock.wallNow() + leftMs } : {};
  return { sink: label, pending, ...tally, ...(failing === undefined ? {} : { failing: { ...failing, ...nextAt } }) };
}

function within(clock: Clock, ms: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(Math.max(ms, 1), resolve);
    void work.then(() => {
      cancel();
      resolve();
    });
  });
}
