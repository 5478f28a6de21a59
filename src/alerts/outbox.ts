import type { Alert, AlertSink } from '../base/alert.ts';
import type { Clock } from '../base/clock.ts';
import type { DispatcherEvent } from '../base/events.ts';
import { isError } from '../base/text.ts';
import { Mailbox } from './mailbox.ts';

export interface OutboxOptions {
  readonly clock: Clock;
  readonly sinks: readonly AlertSink[];
  readonly emit: (event: DispatcherEvent) => void;
}

/** Delivers alerts to sinks, off the call path: nothing here throws, and nothing is awaited by a call. */
export interface Outbox {
  readonly send: (alert: Alert) => void;
  /** Tries everything that waits once and resolves when each has gone out or failed. */
  readonly flush: () => Promise<void>;
  /** `flush`, for `withinMs` at most; then drops and counts what is left. Later alerts are dropped too. */
  readonly close: (withinMs: number) => Promise<void>;
  /** Alerts that have not gone out yet, of all sinks. */
  readonly pending: () => number;
  /** Alerts that never went out, by name of sink. */
  readonly dropped: () => Record<string, number>;
}

export function createOutbox({ clock, sinks, emit }: OutboxOptions): Outbox {
  const onFailure = (sink: string, alert: Alert, error: unknown): void =>
    emit({
      at: clock.wallNow(),
      downstream: alert.downstream,
      type: 'sink-failed',
      detail: `${sink}: ${kindOf(error)}; its alerts wait and are tried again`,
    });
  const mailboxes = sinks.map((sink) => new Mailbox(sink, { clock, onFailure }));
  const flush = async (): Promise<void> => {
    await Promise.all(mailboxes.map((mailbox) => mailbox.flush()));
  };
  return {
    send: (alert) => {
      for (const mailbox of mailboxes) mailbox.send(alert);
    },
    flush,
    close: async (withinMs) => {
      const isWorthIt = withinMs > 0 && mailboxes.some(({ pending }) => pending > 0);
      if (isWorthIt) await within(clock, withinMs, flush());
      for (const mailbox of mailboxes) mailbox.dispose();
    },
    pending: () => mailboxes.reduce((sum, mailbox) => sum + mailbox.pending, 0),
    dropped: () => {
      const counts = new Map<string, number>();
      for (const { sink, dropped } of mailboxes) counts.set(sink.name, (counts.get(sink.name) ?? 0) + dropped);
      return Object.fromEntries(counts);
    },
  };
}

/** An error's message may hold the address of a webhook, which is a secret: only its kind is told. */
function kindOf(error: unknown): string {
  if (!isError(error)) return 'failed';
  try {
    const { name, code } = error as { readonly name?: unknown; readonly code?: unknown };
    return typeof code === 'string' ? `${String(name)} ${code}` : String(name);
  } catch {
    return 'failed';
  }
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
