import type { Alert, AlertFacts, AlertName, AlertSink } from '../base/alert.ts';
import type { Clock } from '../base/clock.ts';
import type { DispatcherEvent } from '../base/events.ts';
import type { SinkSnapshot } from '../base/snapshot.ts';
import { guarded, messageOf } from '../base/text.ts';
import { buildAlert } from './alert.ts';
import { Incidents } from './incidents.ts';
import { type Notice, Notices } from './notice.ts';
import { createOutbox, nameOfSink, type Outbox } from './outbox.ts';
import { stderrSink } from './stderr.ts';

export interface AlertDeskOptions {
  readonly clock: Clock;
  /** Default: stderr. An empty list is silence. */
  readonly sinks?: readonly AlertSink[] | undefined;
  /** Gets every alert that fires, at once and synchronously; no `resolved`, which is made for sinks. */
  readonly onAlert?: ((alert: Alert) => void) | undefined;
  readonly emit: (event: DispatcherEvent) => void;
  readonly origin: Alert['origin'];
  /** Spreads retries; gives [0, 1). */
  readonly random?: (() => number) | undefined;
  /** Until when no sink hears of a downstream (epoch milliseconds). Asked each time; must not throw. */
  readonly mutedUntil?: ((downstream: string) => number | undefined) | undefined;
}

/** Where lanes hand in what they know: every alert is told at once, incidents go to the sinks. */
export interface AlertDesk {
  /** Never throws and waits for nothing; at once: the `alert` event, `onAlert`. */
  readonly raise: (facts: AlertFacts) => Alert;
  /** The same for what is about no lane. It lasts until `end` says otherwise. */
  readonly notify: (notice: Notice) => Alert;
  /** An incident is known to be over: sinks that were told of it are told so. */
  readonly end: (name: AlertName, downstream: string) => void;
  /** Nothing holds a downstream any longer: its incidents end when they have been quiet for long enough. */
  readonly resumed: (downstream: string) => void;
  /** To be called when a policy has changed: a mute may have ended. */
  readonly replanned: () => void;
  /** Tries everything that waits for a sink once; resolves when each has gone out or failed. */
  readonly flush: () => Promise<void>;
  /** Flushes for `withinMs` at most, then drops the rest. Alerts raised later reach no sink. */
  readonly close: (withinMs: number) => Promise<void>;
  /** Alerts that have not gone out yet, of all sinks. */
  readonly pending: number;
  /** Alerts that never went out, by name of sink. */
  readonly dropped: Record<string, number>;
  readonly sinks: readonly SinkSnapshot[];
}

export function createAlertDesk(options: AlertDeskOptions): AlertDesk {
  return new Desk(options);
}

class Desk implements AlertDesk {
  readonly #clock: Clock;
  readonly #origin: Alert['origin'];
  readonly #emit: (event: DispatcherEvent) => void;
  readonly #outbox: Outbox;
  readonly #incidents: Incidents;
  readonly #notices: Notices;
  readonly #tellUser: (alert: Alert) => void;
  #raised = 0;
  #closing: Promise<void> | undefined;

  constructor(options: AlertDeskOptions) {
    const { clock, origin, sinks = [stderrSink()], random, mutedUntil = () => undefined } = options;
    this.#clock = clock;
    this.#origin = origin;
    // Where whoever listens has failed there is nobody left to tell.
    const emit = (event: DispatcherEvent): void =>
      guarded(
        () => options.emit(event),
        () => undefined,
      );
    this.#emit = emit;
    this.#tellUser = userCallback(options.onAlert, clock, emit);
    this.#notices = new Notices(clock, this.#newId);
    const onTrouble = (label: string, detail: string): void => this.#sinkFails(nameOfSink(label), detail);
    const onRecovery = (label: string): void => this.end('SinkFailing', nameOfSink(label));
    this.#outbox = createOutbox({ clock, sinks, emit, random, onTrouble, onRecovery });
    this.#incidents = new Incidents({ clock, readers: this.#outbox.readers, newId: this.#newId, mutedUntil });
  }

  raise(facts: AlertFacts): Alert {
    const alert = buildAlert(facts, this.#origin, this.#newId());
    this.#emit({ at: facts.at, downstream: alert.downstream, type: 'alert', detail: summary(alert) });
    this.#tellUser(alert);
    if (this.#closing === undefined) {
      const heldForMs = Math.max(0, (facts.action.until ?? facts.at) - facts.at);
      this.#incidents.take(alert, heldForMs, facts.longestWindowMs, this.#anew(facts));
    } else if (!this.#incidents.isMuted(alert.downstream)) {
      this.#outbox.send(alert);
    }
    return alert;
  }

  notify(notice: Notice): Alert {
    return this.raise(this.#notices.open(notice));
  }

  end(name: AlertName, downstream: string): void {
    this.#notices.close(name, downstream);
    this.#incidents.end(name, downstream);
  }

  resumed(downstream: string): void {
    this.#incidents.resumed(downstream);
  }

  replanned(): void {
    this.#incidents.review();
  }

  flush(): Promise<void> {
    return this.#outbox.flush();
  }

  close(withinMs: number): Promise<void> {
    this.#incidents.stop();
    this.#closing ??= this.#outbox.close(withinMs);
    return this.#closing;
  }

  get pending(): number {
    return this.#outbox.pending();
  }

  get dropped(): Record<string, number> {
    return this.#outbox.dropped();
  }

  get sinks(): readonly SinkSnapshot[] {
    return this.#outbox.sinks();
  }

  /** The alert that the same facts would make with the impact of then. */
  #anew({ impactNow, ...facts }: AlertFacts): (() => Alert) | undefined {
    if (impactNow === undefined) return undefined;
    return () => buildAlert({ ...facts, at: this.#clock.wallNow(), impact: impactNow() }, this.#origin, this.#newId());
  }

  readonly #newId = (): string => `${this.#origin.instance}-${++this.#raised}`;

  /** Once it is being closed nobody is left to look after a sink. */
  #sinkFails(downstream: string, detail: string): void {
    if (this.#closing === undefined) this.notify({ name: 'SinkFailing', downstream, detail });
  }
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
