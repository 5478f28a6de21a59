import { expect } from 'vitest';

const SOCKETS = new Set(['TCPSocketWrap', 'TCPServerWrap', 'TLSWrap']);
const PATIENCE_MS = 5_000;

function open(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => SOCKETS.has(kind));
}

/** No socket of this process is open. Handles vanish a few turns after they have been closed. */
export async function expectNoSockets(): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  while (open().length > 0 && performance.now() < untilMs) await new Promise((resolve) => setImmediate(resolve));
  expect(open()).toEqual([]);
}
