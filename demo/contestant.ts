import Bottleneck from 'bottleneck';
import { withRetries } from './retries.ts';

/** One call the agents want to make. */
export interface Ask {
  readonly tool: 'get_delivery_status' | 'track_for_customer';
  readonly delivery: string;
  /** `customer` calls matter now; `ticket` calls matter some time. */
  readonly kind: 'ticket' | 'customer';
  /** Epoch milliseconds after which nobody reads the answer. */
  readonly deadline?: number;
}

/** A way of calling the carrier. `ask` resolves with the carrier's last answer or rejects. */
export interface Contestant {
  readonly name: string;
  /** How it is configured, for the reader. */
  readonly how: string;
  readonly ask: (call: Ask) => Promise<Response>;
  readonly close: () => Promise<void>;
}

/** One real HTTP request. */
export function request(url: string, call: Ask, signal: AbortSignal | undefined): Promise<Response> {
  const headers = { 'x-consumer': call.kind };
  return fetch(`${url}/v1/deliveries/${call.delivery}`, signal === undefined ? { headers } : { headers, signal });
}

/** The caller's own patience, where it has any. */
export function patience(call: Ask): AbortSignal | undefined {
  return call.deadline === undefined ? undefined : AbortSignal.timeout(Math.max(0, call.deadline - Date.now()));
}

/** No gate at all: every call goes out at once and is retried three times. */
export function bare(url: string): Contestant {
  return {
    name: 'bare, three retries',
    how: 'every call at once; three retries, half a second doubling, jitter, Retry-After obeyed',
    ask(call) {
      const signal = patience(call);
      return withRetries(() => request(url, call, signal), signal);
    },
    close: async () => {},
  };
}

/**
 * Bottleneck at its best for this job.
 *
 * `minTime` of a 48th of a second spaces the starts evenly below the quota (a reservoir refilled in
 * lumps lets two lumps into one sliding second). `maxConcurrent: 2` is what makes priorities work:
 * without it Bottleneck books every job's start as soon as it is queued and a later, more urgent one
 * goes behind all 800; two is enough to keep the pace, since a call takes less than a spacing. Retries are
 * queued anew, because a retry from its `failed` event does not keep the spacing. A job cannot be
 * taken out of the queue, so one whose caller has gone looks at its signal before it sends anything.
 */
export function bottleneck(url: string): Contestant {
  const limiter = new Bottleneck({ minTime: 1_000 / 48, maxConcurrent: 2 });
  return {
    name: 'Bottleneck 2.19.5',
    how: 'minTime 1/48 s, maxConcurrent 2, the customer at priority 0, retries queued anew',
    ask(call) {
      const signal = patience(call);
      const priority = call.kind === 'customer' ? 0 : 5;
      const attempt = () =>
        limiter.schedule({ priority }, () => {
          signal?.throwIfAborted();
          return request(url, call, signal);
        });
      const answer = withRetries(attempt, signal);
      return signal === undefined ? answer : Promise.race([answer, gone(signal)]);
    },
    async close() {
      await limiter.stop({ dropWaitingJobs: true });
    },
  };
}

function gone(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
