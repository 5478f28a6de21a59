import { vi } from 'vitest';
import { buildAlert } from '../../src/alerts/alert.ts';
import { DeliveryFailed } from '../../src/alerts/sink.ts';
import type { Alert } from '../../src/base/alert.ts';
import { factsOf, origin } from './facts.ts';

export const refuse = (status: number): DeliveryFailed =>
  new DeliveryFailed('https://hooks.example/secret', { isRetryable: false, status });
export const fail = (status: number): DeliveryFailed => new DeliveryFailed('no', { isRetryable: true, status });

export function alertOf(downstream: string): Alert {
  return buildAlert(factsOf({ downstream }), origin);
}

export const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** A delivery takes a few turns of the event loop, each of which is a millisecond here. */
export async function flushed(outbox: { readonly flush: () => Promise<void> }): Promise<void> {
  const done = outbox.flush();
  await pass(100);
  await done;
}
