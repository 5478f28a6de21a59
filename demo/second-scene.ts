import { setTimeout as sleep } from 'node:timers/promises';
import { type Alert, type HoldEvent, stderrSink } from '../src/index.ts';
import type { CarrierEntry } from './carrier.ts';
import { hostCarrier } from './carrier-host.ts';
import { answeredOf } from './contest.ts';
import { type Moment, type PaceStep, paceOf } from './pace.ts';
import { type Gated, penstock } from './penstock.ts';
import { seconds } from './report/look.ts';
import type { Progress } from './report/progress.ts';
import type { Settings } from './settings.ts';
import { customer, type End, type FanOut, fanOut, neighbour, ticket } from './traffic.ts';

export interface SecondScene {
  readonly tickets: { readonly asked: number; readonly answered: number; readonly tookMs: number };
  /** 429s by consumer: the agents', the sync's, the stranger's. */
  readonly throttled: { readonly agents: number; readonly sync: number; readonly stranger: number };
  readonly customer: {
    readonly asked: number;
    readonly answered: number;
    /** Told no by the gate, with the time to come back; `slowestNoMs` is the longest any of them had to wait for it. */
    readonly refused: number;
    readonly slowestNoMs: number;
  };
  readonly incidents: number;
  readonly moments: readonly Moment[];
  /** From the fan-out's first call on, `STEP_MS` each. */
  readonly pace: readonly PaceStep[];
  /** Every alert, one for each 429 of the agents. */
  readonly alerts: readonly Alert[];
  /** What the sink wrote for the person on call: incidents, not single 429s. */
  readonly blocks: readonly string[];
}

/** The same agents, and then somebody else takes half of the quota for a while. */
export async function runSecondScene(settings: Settings, progress: Progress): Promise<SecondScene> {
  const { scene2 } = settings;
  const carrier = await hostCarrier(settings.carrier);
  const alerts: Alert[] = [];
  const blocks: string[] = [];
  const gated = penstock(carrier.url, {
    onAlert: (alert) => void alerts.push(alert),
    // The default sink, as on a terminal; kept until the progress bar is out of the way.
    alertSinks: [stderrSink({ isTerminal: true, write: (text) => void blocks.push(text) })],
  });
  const diary = keepDiary(gated);
  progress.begin('second scene', scene2.calls);
  const sync = neighbour(carrier.url, 'sync', settings.syncEveryMs);
  const person = customer(gated, settings.customerEveryMs, settings.customerDeadlineMs);
  await sleep(settings.leadMs);
  diary.begin(`${scene2.calls} tickets begin; the nightly sync takes its usual share`);
  let ended = 0;
  // Not at each end: while the lane is held there is none.
  const teller = setInterval(() => progress.update(ended, diary.state()), 200);
  const stranger = visit(carrier.url, settings, diary);
  const tickets = await fanOut(
    (n) => ticket(gated, n, settings.ticketDeadlineMs),
    scene2.calls,
    scene2.strangerAfterMs / 2,
    (count) => void (ended = count),
  );
  diary.note('the last ticket has ended');
  clearInterval(teller);
  progress.update(ended, diary.state());
  await stranger;
  const [, personEnds] = await Promise.all([sync.stop(), person.stop()]);
  const entries = await carrier.entries();
  await gated.close();
  await carrier.close();
  progress.end();
  return summary({ tickets, personEnds, entries, diary, alerts, blocks });
}

/** Half of the quota for a while, by somebody who does not ask. */
async function visit(url: string, { scene2 }: Settings, diary: Diary): Promise<void> {
  await sleep(scene2.strangerAfterMs);
  diary.note(`somebody else starts to send ${Math.round(1_000 / scene2.strangerEveryMs)} requests a second`);
  const stranger = neighbour(url, 'stranger', scene2.strangerEveryMs);
  await sleep(scene2.strangerForMs);
  diary.note('somebody else stops');
  await stranger.stop();
}

interface Diary {
  readonly begin: (text: string) => void;
  readonly note: (text: string) => void;
  /** What the lane does now, in a few words. */
  readonly state: () => string;
  readonly moments: () => readonly Moment[];
  readonly incidents: () => number;
  /** Epoch milliseconds. */
  readonly startedAt: () => number;
}

function keepDiary(gated: Gated): Diary {
  const notes: { at: number; text: string }[] = [];
  const seen = new Set<string>();
  let startedAt = Date.now();
  let heldUntil = 0;
  const note = (text: string, at = Date.now()) => void notes.push({ at, text });
  gated.dispatcher.subscribe((event) => {
    if (event.type === 'held') {
      heldUntil = event.until;
      const before = seen.size;
      if (event.incidentId !== undefined) seen.add(event.incidentId);
      note(heldText(gated, event, seen.size === before ? undefined : seen.size), event.at);
    }
    if (event.type === 'resumed') note(resumedText(gated), event.at);
  });
  return {
    begin(text) {
      startedAt = Date.now();
      note(text);
    },
    note,
    state: () => (Date.now() < heldUntil ? 'the lane is held' : 'the lane is open'),
    moments: () => notes.map(({ at, text }) => ({ atMs: at - startedAt, text })),
    incidents: () => seen.size,
    startedAt: () => startedAt,
  };
}

/** `incident` counts from 1; absent where the hold belongs to one that was told already. */
function heldText(gated: Gated, event: HoldEvent, incident: number | undefined): string {
  const length = `${seconds(Math.max(0, event.until - event.at))} (${event.cause})`;
  if (incident === undefined) return `the hold is extended: ${length} from now`;
  const isPaused = gated.dispatcher.snapshot().downstreams[0]?.isPaused === true;
  const told = incident === 1 ? 'an alert goes out' : 'the person on call knows already';
  return `a 429: ${isPaused ? 'the lane is paused' : 'no call starts'} for ${length}; ${told}`;
}

function resumedText(gated: Gated): string {
  const lane = gated.dispatcher.snapshot().downstreams[0];
  const warm = lane === undefined || lane.warmLeftMs <= 0 ? '' : `, at half pace for ${seconds(lane.warmLeftMs)}`;
  return `the lane opens again${warm}`;
}

interface Raw {
  readonly tickets: FanOut;
  readonly personEnds: readonly End[];
  readonly entries: readonly CarrierEntry[];
  readonly diary: Diary;
  readonly alerts: readonly Alert[];
  readonly blocks: readonly string[];
}

function summary({ tickets, personEnds, entries, diary, alerts, blocks }: Raw): SecondScene {
  const throttled = (...consumers: string[]) =>
    entries.filter((entry) => entry.status === 429 && consumers.includes(entry.consumer)).length;
  const refusals = personEnds.filter((end) => end.code !== undefined);
  return {
    tickets: { asked: tickets.ends.length, answered: answeredOf(tickets.ends), tookMs: tickets.tookMs },
    throttled: {
      agents: throttled('ticket', 'customer'),
      sync: throttled('sync'),
      stranger: throttled('stranger'),
    },
    customer: {
      asked: personEnds.length,
      answered: answeredOf(personEnds),
      refused: refusals.length,
      slowestNoMs: Math.max(0, ...refusals.map((end) => end.waitedMs)),
    },
    incidents: diary.incidents(),
    moments: diary.moments(),
    pace: paceOf(entries, diary.startedAt()),
    alerts,
    blocks,
  };
}
