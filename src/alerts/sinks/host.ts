import type { Alert } from '../../base/alert.ts';
import type { Clock } from '../../base/clock.ts';
import { systemClock } from '../../base/clock.ts';
import type { SinkFilter } from '../../base/plan.ts';

/** What a receiver said, for whoever tries a sink by hand. */
export interface Answer {
  /** Undefined where there was no answer; `line` then says why. */
  readonly status: number | undefined;
  /** The first line of its answer, made fit to print, without secrets and addresses. */
  readonly line: string;
}

/** What a sink takes from where it runs, and what every sink can be told. */
export interface SinkHost {
  /** Default: the sink's kind. */
  readonly name?: string | undefined;
  /** Which alerts it gets. Default: all. */
  readonly only?: SinkFilter | undefined;
  /** Where references to secrets are looked up. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** For tests: `ManualClock`. */
  readonly clock?: Clock | undefined;
  /** Hears what receivers answer. */
  readonly onAnswer?: ((answer: Answer) => void) | undefined;
  /** Where options are named in errors: `alerts[1].slack`. */
  readonly where?: string | undefined;
  /** What is sent is a test, and says so. */
  readonly isTest?: boolean | undefined;
}

export function clockOf(host: SinkHost): Clock {
  return host.clock ?? systemClock;
}

/** What every sink of a policy has in common. */
export function common(kind: string, { name, only }: SinkHost): { name: string; accepts?: (alert: Alert) => boolean } {
  return { name: name ?? kind, ...(only === undefined ? {} : { accepts: (alert) => isWanted(alert, only) }) };
}

/** Whether an alert matches every list that is there. An alert without an owner matches no list of owners. */
export function isWanted(alert: Alert, { severity, owner, downstream, name }: SinkFilter): boolean {
  return (
    (severity === undefined || severity.includes(alert.severity)) &&
    (owner === undefined || (alert.owner !== undefined && owner.includes(alert.owner))) &&
    (downstream === undefined || downstream.includes(alert.downstream)) &&
    (name === undefined || name.includes(alert.name))
  );
}
