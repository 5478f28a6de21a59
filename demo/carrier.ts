import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CarrierSettings } from './settings.ts';

/** One request the carrier answered, as its own books have it. */
export interface CarrierEntry {
  /** Epoch milliseconds of its arrival. */
  readonly at: number;
  /** Who asked, by the header `x-consumer`. */
  readonly consumer: string;
  readonly status: 200 | 429 | 503;
}

export interface Carrier {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly entries: () => readonly CarrierEntry[];
  readonly close: () => Promise<void>;
}

/**
 * An API with a sliding window and no patience. Up to `limit` requests are accepted in any window;
 * the rest get a 429 with Retry-After in whole seconds, and do not count. After a storm of 429s it
 * answers 503 to everyone, without a hint, as a proxy in front of an overloaded service does.
 */
export async function openCarrier(
  settings: CarrierSettings,
  now: () => number = () => performance.now(),
): Promise<Carrier> {
  const gate = new SlidingWindow(settings, now);
  const entries: CarrierEntry[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/health') return answer(response, 200, { ok: true });
    const ruling = gate.rule();
    const consumer = consumerOf(request);
    entries.push({ at: performance.timeOrigin + performance.now(), consumer, status: ruling.status });
    if (ruling.status === 429) {
      const seconds = Math.max(1, Math.ceil(ruling.retryAfterMs / 1_000));
      return answer(response, 429, { error: 'too many requests' }, { 'retry-after': String(seconds) });
    }
    if (ruling.status === 503) return answer(response, 503, { error: 'unavailable' });
    const delivery = request.url?.split('/').at(-1) ?? '';
    setTimeout(() => answer(response, 200, { delivery, status: 'in transit' }), settings.latencyMs);
  });
  // Longer than any silence of the demo: a connection that the server closes under a request is not the story.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    entries: () => entries,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Ruling = { readonly status: 200 | 503 } | { readonly status: 429; readonly retryAfterMs: number };

/** The carrier's rule, apart from HTTP. `now` is monotonic, in milliseconds. */
export class SlidingWindow {
  readonly #settings: CarrierSettings;
  readonly #now: () => number;
  #accepted: number[] = [];
  #rejected: number[] = [];
  #outageUntil = Number.NEGATIVE_INFINITY;

  constructor(settings: CarrierSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  rule(): Ruling {
    const { limit, windowMs, stormAbove, outageMs } = this.#settings;
    const now = this.#now();
    if (now < this.#outageUntil) return { status: 503 };
    const isRecent = (at: number) => at > now - windowMs;
    this.#accepted = this.#accepted.filter(isRecent);
    if (this.#accepted.length < limit) {
      this.#accepted.push(now);
      return { status: 200 };
    }
    this.#rejected = this.#rejected.filter(isRecent);
    this.#rejected.push(now);
    if (this.#rejected.length > stormAbove) {
      this.#outageUntil = now + outageMs;
      this.#rejected = [];
    }
    return { status: 429, retryAfterMs: (this.#accepted[0] ?? now) + windowMs - now };
  }
}

function consumerOf(request: IncomingMessage): string {
  const named = request.headers['x-consumer'];
  return typeof named === 'string' ? named : 'unknown';
}

function answer(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
