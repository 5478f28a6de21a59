import type { Alert, AlertFacts, AlertSink } from '../base/alert.ts';
import type { Clock } from '../base/clock.ts';
import type { DispatcherEvent } from '../base/events.ts';
import { guarded, messageOf } from '../base/text.ts';
import { buildAlert } from './alert.ts';
import { Incidents } from './incidents.ts';
import { createOutbox } from './outbox.ts';
import { stderrSink } from './stderr.ts';

export interface AlertDeskOptions {
  readonly clock: Clock;
  /** Default: stderr. An empty list is silence. */
  readonly sinks?: readonly AlertSink[] | undefined;
  /** Gets every alert, at once and synchronously. */
  readonly onAlert?: ((alert: Alert) => void) | undefined;
  readonly emit: (event: DispatcherEvent) => void;
  readonly origin: Alert['origin'];
}

/** Where lanes hand in what they know: every alert is told at once, incidents go to the sinks. */
export interface AlertDesk {
  /** Never throws and waits for nothing; at once: the `alert` event, `onAlert`. */
  readonly raise: (facts: AlertFacts) => Alert;
  /** Tries everything that waits for a sink once; resolves when each has gone out or failed. */
  readonly flush: () => Promise<void>;
  /** Flushes for `withinMs` at most, then drops the rest. Alerts raised later reach no sink. */
  readonly close: (withinMs: number) => Promise<void>;
  /** Alerts that have not gone out yet, of all sinks. */
  readonly pending: number;
  /** Alerts that never went out, by name of sink. */
  readonly dropped: Record<string, number>;
}

export function createAlertDesk(options: AlertDeskOptions): AlertDesk {
  const { clock, origin } = options;
  // Where whoever listens has failed there is nobody left to tell.
  const emit = (event: DispatcherEvent): void =>
    guarded(
      () => options.emit(event),
      () => undefined,
    );
  const outbox = createOutbox({ clock, sinks: options.sinks ?? [stderrSink()], emit });
  let raised = 0;
  let closing: Promise<void> | undefined;
  const newId = (): string => `${origin.instance}-${++raised}`;
  const incidents = new Incidents(clock, outbox.send, newId);
  const tellUser = userCallback(options.onAlert, clock, emit);

  const raise = (facts: AlertFacts): Alert => {
    const alert = buildAlert(facts, origin, newId());
    emit({ at: facts.at, downstream: alert.downstream, type: 'alert', detail: summary(alert) });
    tellUser(alert);
    if (closing === undefined) {
      const heldForMs = Math.max(0, (facts.action.until ?? facts.at) - facts.at);
      incidents.take(alert, heldForMs, facts.longestWindowMs);
    } else {
      outbox.send(alert);
    }
    return alert;
  };
  const close = (withinMs: number): Promise<void> => {
    incidents.stop();
    closing ??= outbox.close(withinMs);
    return closing;
  };
  return {
    raise,
    flush: outbox.flush,
    close,
    get pending() {
      return outbox.pending();
    },
    get dropped() {
      return outbox.dropped();
    },
  };
}

function summary(alert: Alert): string {
  const [done] = alert.explanation.split('\n');
  return `${alert.severity} ${alert.name} ${alert.id}: ${done}`;
}

/** Calls `onAlert`, whatever it does; its first failure is told once. */
function userCallback(
  onAlert: AlertDeskOptions['onAlert'],
  clock: Clock,
  emit: (event: DispatcherEvent) => void,
): (alert: Alert) => void {
  let hasFailed = false;
  return (alert) => {
    guarded(
      () => onAlert?.(alert),
      (error) => {
        if (hasFailed) return;
        hasFailed = true;
        const detail = `onAlert: ${messageOf(error)}`;
        emit({ at: clock.wallNow(), downstream: alert.downstream, type: 'listener-failed', detail });
      },
    );
  };
}
