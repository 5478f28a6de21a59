import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CarrierEntry } from './carrier.ts';
import { hostCarrier } from './carrier-host.ts';
import type { Contestant } from './contestant.ts';
import type { Progress } from './report/progress.ts';
import type { Settings } from './settings.ts';
import { customer, type End, fanOut, neighbour, ticket } from './traffic.ts';

/** One contestant's row of the table. Counts of 429 and 503 are the carrier's own, for all its consumers. */
export interface Row {
  readonly name: string;
  readonly how: string;
  /** Requests of the fan-out and the customer, retries included. */
  readonly requests: number;
  readonly throttled: number;
  readonly unavailable: number;
  readonly tickets: { readonly asked: number; readonly answered: number };
  readonly sync: { readonly asked: number; readonly lost: number };
  readonly customer: { readonly asked: number; readonly answered: number; readonly worstMs: number };
  readonly tookMs: number;
  /** From question to answer, answered tickets only, ascending. */
  readonly waitsMs: readonly number[];
  /** How late the clients' event loop was, 99th percentile: what is below it in the other figures is noise. */
  readonly loopLateMs: number;
}

const LOOP_RESOLUTION_MS = 5;

/** Runs one contestant against a fresh carrier that the nightly sync uses too. */
export async function compete(make: (url: string) => Contestant, settings: Settings, progress: Progress): Promise<Row> {
  const carrier = await hostCarrier(settings.carrier);
  const contestant = make(carrier.url);
  const loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  loop.enable();
  progress.begin(contestant.name, settings.calls);
  const sync = neighbour(carrier.url, 'sync', settings.syncEveryMs);
  const person = customer(contestant, settings.customerEveryMs, settings.customerDeadlineMs);
  await sleep(settings.leadMs);
  const ask = (n: number) => ticket(contestant, n, settings.ticketDeadlineMs);
  const tickets = await fanOut(ask, settings.calls, settings.spreadMs, (ended, answered) =>
    progress.update(ended, `${answered} answered`),
  );
  await sleep(settings.tailMs);
  const [syncEnds, personEnds] = await Promise.all([sync.stop(), person.stop()]);
  loop.disable();
  const entries = await carrier.entries();
  await contestant.close();
  await carrier.close();
  progress.end();
  return {
    name: contestant.name,
    how: contestant.how,
    ...booksOf(entries),
    tickets: { asked: tickets.ends.length, answered: answeredOf(tickets.ends) },
    sync: { asked: syncEnds.length, lost: syncEnds.length - answeredOf(syncEnds) },
    customer: {
      asked: personEnds.length,
      answered: answeredOf(personEnds),
      worstMs: Math.max(0, ...personEnds.map((end) => end.waitedMs)),
    },
    tookMs: tickets.tookMs,
    waitsMs: tickets.ends
      .filter((end) => end.answered)
      .map((end) => end.waitedMs)
      .sort((a, b) => a - b),
    loopLateMs: Math.max(0, loop.percentile(99) / 1e6 - LOOP_RESOLUTION_MS),
  };
}

/** How many of these calls were answered. */
export function answeredOf(ends: readonly End[]): number {
  return ends.filter((end) => end.answered).length;
}

function booksOf(entries: readonly CarrierEntry[]): Pick<Row, 'requests' | 'throttled' | 'unavailable'> {
  const isOurs = (entry: CarrierEntry) => entry.consumer === 'ticket' || entry.consumer === 'customer';
  return {
    requests: entries.filter(isOurs).length,
    throttled: entries.filter((entry) => entry.status === 429).length,
    unavailable: entries.filter((entry) => entry.status === 503).length,
  };
}
