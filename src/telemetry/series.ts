import type { Attributes, Counter } from '@opentelemetry/api';
import type { ErrorCode } from '../base/errors.ts';
import type { CallEvent } from '../base/events.ts';
import type { Outcome, Priority } from '../base/words.ts';
import { ATTRIBUTE, OTHER } from './names.ts';

/** How an admission ended. */
export type Admission = 'started' | 'refused' | 'aborted';

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

/** Refusals that any lane can come to, counted from 0 for the same reason. */
const FORESEEN: readonly ErrorCode[] = [
  'DEADLINE_EXCEEDED',
  'RATE_LIMIT_QUEUE_FULL',
  'RATE_LIMIT_QUEUE_TIMEOUT',
  'RATE_LIMITED',
];

/** What one downstream reports: its attribute objects, made once, and its counts. */
export class DownstreamSeries {
  readonly wait: Readonly<Record<Admission, Readonly<Record<Priority, Attributes>>>>;
  readonly call: Readonly<Record<Outcome, Attributes>>;
  readonly throttled: Tally;
  readonly #name: string;
  readonly #started: Tally;
  readonly #aborted: Tally;
  readonly #refused = new Map<string, Tally>();

  constructor(name: string) {
    this.#name = name;
    this.wait = {
      started: this.#waits('started'),
      refused: this.#waits('refused'),
      aborted: this.#waits('aborted'),
    };
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

  /** Tells every count that a lane can come to, even while it is 0. */
  tell(admissions: Counter): void {
    for (const code of FORESEEN) this.#refusals(code);
    this.#started.tell(admissions);
    this.#aborted.tell(admissions);
    this.tellRefusals(admissions);
  }

  tellRefusals(admissions: Counter): void {
    for (const tally of this.#refused.values()) tally.tell(admissions);
  }

  #refusals(code: string): Tally {
    let tally = this.#refused.get(code);
    if (tally === undefined) {
      tally = new Tally(this.#with({ [ATTRIBUTE.outcome]: 'refused', [ATTRIBUTE.errorType]: code }));
      this.#refused.set(code, tally);
    }
    return tally;
  }

  #waits(outcome: Admission): Readonly<Record<Priority, Attributes>> {
    const wait = (priority: Priority): Attributes =>
      this.#with({ [ATTRIBUTE.outcome]: outcome, [ATTRIBUTE.priority]: priority });
    return { interactive: wait('interactive'), normal: wait('normal'), batch: wait('batch') };
  }

  #with(attributes: Attributes): Attributes {
    return { [ATTRIBUTE.downstream]: this.#name, ...attributes };
  }
}
