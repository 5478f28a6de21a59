import { isAdmissionError } from '../../../src/base/errors.ts';
import type { DispatcherEvent } from '../../../src/base/events.ts';
import type { Priority } from '../../../src/base/words.ts';
import type { Call } from '../../../src/dispatch/context.ts';
import { createDispatcher, type Dispatcher } from '../../../src/dispatcher.ts';
import type { DownstreamPolicyInput, PolicyInput } from '../../../src/policy/input.ts';
import { ManualClock } from '../../../src/testing.ts';

/** One call of a script, everything fixed beforehand. */
export interface Asked {
  /** After the call before it. */
  readonly afterMs: number;
  readonly cost: number;
  readonly priority: Priority | undefined;
  readonly run: string | undefined;
  /** From when it is made; undefined: no deadline. */
  readonly deadlineMs: number | undefined;
  readonly runMs: number;
  /** It ends with a 429 that asks for so much time; undefined: it ends well. */
  readonly throttledMs: number | undefined;
  /** It ends well, and its answer says how much the server's counter leaves, and for how long; undefined: it does not. */
  readonly counter: { readonly remaining: number; readonly resetMs: number } | undefined;
  /** The operator pauses the lane for so long just before it; undefined: not. */
  readonly pausedMs: number | undefined;
  readonly isNesting: boolean;
}

/** What became of a call. */
export interface Told {
  readonly asked: Asked;
  readonly madeAt: number;
  /** Its place among everything that happened. */
  readonly madeAs: number;
  /** The instant after which a start is useless: the deadline, or `maxWait`. */
  readonly limitAt: number;
  /** What it was told when its wait began, and how many holds there had been by then. */
  expectedMs: number | undefined;
  holdsBefore: number;
  startedAt: number | undefined;
  /** Its place among those that started. */
  startedAs: number;
  /** When the lane heard its outcome. */
  settledAt: number;
  holdsAtStart: number;
  error: unknown;
  /** Refused at once. */
  isTurnedAway: boolean;
  /** Refused later. */
  hasLeft: boolean;
  endedAt: number;
  holdsAtEnd: number;
}

const NAME = 'api';

/** A dispatcher on a manual clock on which a script is performed, as often as one likes, always alike. */
export class Stage {
  readonly clock = new ManualClock();
  readonly dispatcher: Dispatcher;
  /** By the index of the call; calls that were left out are missing. */
  readonly told: Told[] = [];
  /** What has worsened the outlook so far: holds that were begun or extended, and counters that were told; of these, how many were holds that the server asked for. */
  holds = 0;
  serverHolds = 0;
  readonly #policy: DownstreamPolicyInput;
  /** Who left the line without having started: when they entered it and when they left, as `madeAs` counts. */
  readonly #left: { readonly from: number; readonly to: number }[] = [];
  readonly #waiting = new Map<number, number>();
  #happened = 0;
  #starts = 0;
  readonly #byTool = new Map<string, Told>();

  constructor(policy: DownstreamPolicyInput) {
    this.#policy = policy;
    this.dispatcher = createDispatcher({ downstreams: { [NAME]: policy } } as PolicyInput, {
      clock: this.clock,
      env: {},
      alertSinks: [],
      random: () => 0.5,
      classify: {
        [NAME]: ({ value }) => {
          const { counter } = (value ?? {}) as Partial<Pick<Asked, 'counter'>>;
          if (counter === undefined) return undefined;
          this.holds++;
          return { outcome: 'success', quotas: [counter] };
        },
      },
    });
    this.dispatcher.subscribe((event) => this.#hear(event));
  }

  /** Makes the calls of a script, each at its time. Of one that is left out only its pause is carried out. */
  async perform(script: readonly Asked[], times: readonly number[], leftOut?: ReadonlySet<number>): Promise<void> {
    for (const [i, asked] of script.entries()) {
      const at = times[i]!;
      if (at > this.clock.now()) await this.clock.advance(at - this.clock.now());
      if (leftOut?.has(i) === true) this.#pause(asked);
      else this.make(asked, i);
    }
  }

  make(asked: Asked, index = this.told.length): Told {
    const { clock, dispatcher } = this;
    this.#pause(asked);
    const madeAt = clock.now();
    const maxWait = this.#policy.maxWait === undefined ? Number.POSITIVE_INFINITY : Number(this.#policy.maxWait);
    const told: Told = {
      asked,
      madeAt,
      madeAs: ++this.#happened,
      limitAt: madeAt + Math.min(asked.deadlineMs ?? Number.POSITIVE_INFINITY, maxWait),
      expectedMs: undefined,
      holdsBefore: this.holds,
      startedAt: undefined,
      startedAs: 0,
      settledAt: Number.POSITIVE_INFINITY,
      holdsAtStart: 0,
      error: undefined,
      isTurnedAway: false,
      hasLeft: false,
      endedAt: Number.POSITIVE_INFINITY,
      holdsAtEnd: 0,
    };
    const tool = `c${index}`;
    this.told[index] = told;
    this.#byTool.set(tool, told);
    const { cost, priority, run, deadlineMs } = asked;
    const deadline = deadlineMs === undefined ? undefined : clock.wallNow() + deadlineMs;
    const ctx = { tool, cost, priority, runId: run, deadline };
    dispatcher
      .callDownstream(NAME, (call) => this.#fn(told, call), ctx)
      .catch((error: unknown) => this.#failed(told, error));
    return told;
  }

  /** Lets time pass until each of these calls has started or been refused. */
  async finish(calls: readonly Told[] = this.told): Promise<void> {
    const isOver = (): boolean => calls.every((one) => one.startedAt !== undefined || one.error !== undefined);
    await this.clock.advance(0);
    for (let next = this.clock.nextTimerInMs; next !== undefined && !isOver(); next = this.clock.nextTimerInMs)
      await this.clock.advance(next);
  }

  /** Whether a call that waited when this one was made left the line later on: what was foretold counted it. */
  hasSomebodyLeft({ madeAs }: Told): boolean {
    return this.#left.some(({ from, to }) => from < madeAs && madeAs < to);
  }

  #pause({ pausedMs }: Asked): void {
    if (pausedMs !== undefined) this.dispatcher.pause(NAME, { for: pausedMs });
  }

  async #fn(told: Told, call: Call): Promise<unknown> {
    told.startedAt = this.clock.now();
    told.startedAs = ++this.#starts;
    told.holdsAtStart = this.holds;
    const { asked } = told;
    if (asked.isNesting) await call.run(() => undefined).catch(() => undefined);
    if (asked.runMs > 0) await new Promise<void>((resolve) => this.clock.setTimer(asked.runMs, resolve));
    told.settledAt = this.clock.now();
    if (asked.counter !== undefined) return { counter: asked.counter };
    if (asked.throttledMs === undefined) return undefined;
    return { status: 429, headers: new Headers({ 'retry-after': String(asked.throttledMs / 1_000) }) };
  }

  #failed(told: Told, error: unknown): void {
    told.error = error;
    told.endedAt = this.clock.now();
    told.holdsAtEnd = this.holds;
    if (!isAdmissionError(error) || error.started) return;
    const isAtEntry = error.waitedMs === 0 && told.expectedMs === undefined;
    told.isTurnedAway = isAtEntry;
    told.hasLeft = !isAtEntry;
  }

  #hear(event: DispatcherEvent): void {
    // One that a counter brings was foreseen since it was told.
    if (event.type === 'held' && event.cause !== 'quota-reset') {
      this.holds++;
      if (event.cause !== 'operator') this.serverHolds++;
    }
    const as = ++this.#happened;
    if (event.type === 'refused') {
      const from = this.#waiting.get(event.callId);
      if (from !== undefined) this.#left.push({ from, to: as });
    }
    if (event.type !== 'queued' || event.tool === undefined) return;
    this.#waiting.set(event.callId, as);
    const told = this.#byTool.get(event.tool)!;
    // Nested calls carry the tool of their outer call, which has started by then.
    if (told.startedAt !== undefined) return;
    told.expectedMs = event.expectedMs;
    told.holdsBefore = this.holds;
  }
}

/** When each call of a script is made. */
export function timesOf(script: readonly Asked[]): number[] {
  let at = 0;
  return script.map(({ afterMs }) => (at += afterMs));
}

/** Performs a script, to its last call. */
export async function performed(
  policy: DownstreamPolicyInput,
  script: readonly Asked[],
  leftOut?: ReadonlySet<number>,
): Promise<Stage> {
  const stage = new Stage(policy);
  await stage.perform(script, timesOf(script), leftOut);
  await stage.clock.advance(0);
  return stage;
}
