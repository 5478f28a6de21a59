import type { Attributes, Counter } from '@opentelemetry/api';
import type { ErrorCode } from '../base/errors.ts';
import type { CallEvent } from '../base/events.ts';
import type { Mode, Outcome, Priority } from '../base/words.ts';
import { ATTRIBUTE, OTHER } from './names.ts';

/** How an admission ended. */
export type Admission = 'started' | 'refused' | 'aborted';

/** How one would have ended, had the downstream not been only observed. */
export type WouldBe = 'started' | 'would_refuse';

/** A count of our own that a counter is told of when it is collected, so that a call need not. */
export class Tally {
  count = 0;
  readonly #attributes: Attributes;
  #told: number | undefined;

  constructor(attributes: Attributes) {
    this.#attributes = attributes;
  }

  /** Adds what is new; 0 the first time, because a counter whose first sample is 1 shows no increase. */
  tell(counter: Counter): void {
    const told = this.#told;
    if (told === this.count) return;
    this.#told = this.count;
    const increase = this.count - (told ?? 0);
    // A total that went back began anew; adding it whole could page somebody for 429s of yesterday.
    if (increase >= 0) counter.add(increase, this.#attributes);
  }
}

/** Whether a lane refuses with a code, and whether it would where it only observes. */
type Foreseen = 'refused' | 'both' | 'never';

/** Every code has its row: one that is left out does not compile. */
const FORESEEN: Readonly<Record<ErrorCode | 'CANCELLED', Foreseen>> = {
  DEADLINE_EXCEEDED: 'both',
  RATE_LIMIT_QUEUE_FULL: 'both',
  RATE_LIMIT_QUEUE_TIMEOUT: 'both',
  RATE_LIMITED: 'both',
  COST_EXCEEDS_QUOTA: 'both',
  INVALID_CALL: 'refused',
  CANCELLED: 'refused',
  DISPATCHER_CLOSED: 'refused',
  UNKNOWN_DOWNSTREAM: 'never',
  INVALID_POLICY: 'never',
};

/** Refusals that a lane can come to, counted from 0 for the same reason. */
const REFUSALS = codesOf('refused', 'both');
const WOULD_REFUSALS = codesOf('both');

function codesOf(...kinds: readonly Foreseen[]): readonly string[] {
  return Object.entries(FORESEEN).flatMap(([code, kind]) => (kinds.includes(kind) ? [code] : []));
}

/** What one downstream reports: its attribute objects, made once, and its counts. */
export class DownstreamSeries {
  readonly wait: Readonly<Record<Admission, Readonly<Record<Priority, Attributes>>>>;
  readonly wouldWait: Readonly<Record<WouldBe, Readonly<Record<Priority, Attributes>>>>;
  readonly call: Readonly<Record<Outcome, Attributes>>;
  readonly throttled: Tally;
  readonly #name: string;
  readonly #started: Tally;
  readonly #aborted: Tally;
  readonly #refused = new Map<string, Tally>();
  readonly #wouldRefuse = new Map<string, Tally>();

  constructor(name: string) {
    this.#name = name;
    this.wait = {
      started: this.#waits('started'),
      refused: this.#waits('refused'),
      aborted: this.#waits('aborted'),
    };
    this.wouldWait = { started: this.wait.started, would_refuse: this.#waits('would_refuse') };
    const call = (outcome: Outcome): Attributes => this.#with({ [ATTRIBUTE.outcome]: outcome });
    this.call = {
      success: call('success'),
      throttled: call('throttled'),
      overloaded: call('overloaded'),
      exhausted: call('exhausted'),
      failed: call('failed'),
      cancelled: call('cancelled'),
    };
    this.throttled = new Tally(this.#with({}));
    this.#started = new Tally(this.#with({ [ATTRIBUTE.outcome]: 'started' }));
    this.#aborted = new Tally(this.#with({ [ATTRIBUTE.outcome]: 'aborted' }));
  }

  count(admission: Admission, event: CallEvent): void {
    if (admission === 'started') this.#started.count += 1;
    else if (admission === 'aborted') this.#aborted.count += 1;
    else this.#refusals(event.code ?? OTHER).count += 1;
  }

  countWouldRefuse(event: CallEvent): void {
    this.#wouldRefusals(event.code ?? OTHER).count += 1;
  }

  /** Tells every count that a lane can come to, even while it is 0. */
  tell(admissions: Counter, mode?: Mode): void {
    for (const code of REFUSALS) this.#refusals(code);
    if (mode === 'observe') for (const code of WOULD_REFUSALS) this.#wouldRefusals(code);
    this.#started.tell(admissions);
    this.#aborted.tell(admissions);
    this.tellRefusals(admissions);
  }

  tellRefusals(admissions: Counter): void {
    for (const tally of this.#refused.values()) tally.tell(admissions);
    for (const tally of this.#wouldRefuse.values()) tally.tell(admissions);
  }

  #refusals(code: string): Tally {
    return this.#tallyOf(this.#refused, 'refused', code);
  }

  #wouldRefusals(code: string): Tally {
    return this.#tallyOf(this.#wouldRefuse, 'would_refuse', code);
  }

  #tallyOf(tallies: Map<string, Tally>, outcome: string, code: string): Tally {
    let tally = tallies.get(code);
    if (tally === undefined) {
      tally = new Tally(this.#with({ [ATTRIBUTE.outcome]: outcome, [ATTRIBUTE.errorType]: code }));
      tallies.set(code, tally);
    }
    return tally;
  }

  #waits(outcome: Admission | WouldBe): Readonly<Record<Priority, Attributes>> {
    const wait = (priority: Priority): Attributes =>
      this.#with({ [ATTRIBUTE.outcome]: outcome, [ATTRIBUTE.priority]: priority });
    return { interactive: wait('interactive'), normal: wait('normal'), batch: wait('batch') };
  }

  #with(attributes: Attributes): Attributes {
    return { [ATTRIBUTE.downstream]: this.#name, ...attributes };
  }
}
