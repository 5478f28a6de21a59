import { expect } from 'vitest';

const SOCKETS = new Set(['TCPSocketWrap', 'TCPServerWrap', 'TLSWrap']);
const TURNS = 1_000;

function open(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => SOCKETS.has(kind));
}

/** No socket of this process is open. Handles vanish a few turns after they have been closed. */
export async function expectNoSockets(): Promise<void> {
  for (let turn = 0; turn < TURNS && open().length > 0; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(open()).toEqual([]);
}
