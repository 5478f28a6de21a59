import type { Inside } from '../../base/inside.ts';
import type { Row } from './inventory.ts';

const HOUR_MS = 3_600_000;
/** Beyond so many of one host in an hour they are counted, and told as events no more: a listener writes each to a log. */
const MOST_EVENTS = 1_000;

/** What was told of one host. Instants are monotonic. */
interface Told {
  /** When the hour began in which `count` were seen. */
  from: number;
  count: number;
  /** In the hour before. */
  before: number;
}

/** Tells what was found, and no more often than somebody wants to hear it. */
export class Findings {
  readonly #inside: Inside;
  readonly #told = new WeakMap<Row, Told>();
  readonly #retriesToldAt = new Map<string, number>();

  constructor(inside: Inside) {
    this.#inside = inside;
  }

  /** A request passed no gate. `isAfter`: it was begun by a call that has ended. `rows`: all hosts of its downstream. */
  ungated(row: Row, downstream: string, method: unknown, isAfter: boolean, rows: () => readonly Row[]): void {
    const now = this.#inside.clock.now();
    let told = this.#told.get(row);
    const isDue = told === undefined || now >= told.from + HOUR_MS;
    if (told === undefined || isDue) {
      const before = told !== undefined && now < told.from + 2 * HOUR_MS ? told.count : 0;
      told = { from: now, count: 0, before };
      this.#told.set(row, told);
    }
    told.count++;
    const { text } = row.address;
    const when = isAfter
      ? `after the call of ${downstream} that began it had ended`
      : `outside any call of ${downstream}`;
    if (told.count <= MOST_EVENTS) this.#emit('ungated-request', downstream, `${verb(method)} ${text}: made ${when}.`);
    if (!isDue) return;
    // A newer alert of a downstream takes the place of an older one: it says all that this one said.
    const others = rows().filter((other) => other !== row && this.#isRecent(other, now));
    const hosts = [row, ...others].map((one) => this.#counted(one)).join(', ');
    this.#inside.alert({
      name: 'UngatedRequest',
      downstream,
      detail: `Requests to ${hosts} were made ${isAfter ? `${when}, or outside any` : when}.`,
    });
  }

  /** A call sent more requests than its permits are for. */
  retries(row: Row, downstream: string, requests: number, permits: number): void {
    const now = this.#inside.clock.now();
    const toldAt = this.#retriesToldAt.get(downstream) ?? Number.NEGATIVE_INFINITY;
    if (now < toldAt + HOUR_MS) return;
    this.#retriesToldAt.set(downstream, now);
    const off = this.#inside.plans().get(downstream)?.retriesOff;
    const how = off ?? "the client's own option for that (maxRetries: 0, retry: 0, retries: false or the like)";
    const taken = permits === 1 ? '1 request' : `${permits} requests`;
    this.#emit(
      'hidden-retries',
      downstream,
      `A call of ${downstream} that took permits for ${taken} has sent ${requests} to ${row.address.text}: its client tries again by itself, and no permit is taken for that. Switch its retries off: ${how}. Or it asks for several things in one call, such as pages: then make a call of each, or say how many with \`cost\`.`,
    );
  }

  #emit(type: 'ungated-request' | 'hidden-retries', downstream: string, detail: string): void {
    this.#inside.emit({ at: this.#inside.clock.wallNow(), downstream, type, detail });
  }

  #isRecent(row: Row, now: number): boolean {
    const told = this.#told.get(row);
    return told !== undefined && now < told.from + HOUR_MS;
  }

  #counted(row: Row): string {
    const { count = 0, before = 0 } = this.#told.get(row) ?? {};
    const earlier = before === 0 ? '' : `, ${before} in the hour before`;
    return `${row.address.text} (${count} so far${earlier})`;
  }
}

/** A method is the caller's own text. */
function verb(method: unknown): string {
  return typeof method === 'string' && /^[A-Z-]{1,20}$/.test(method) ? method : 'A request to';
}
