import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const closers: (() => unknown)[] = [];
/** Closes what a test has opened. */
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0)) await close();
}

export function closeLater(close: () => unknown): void {
  closers.push(close);
}

/** A server that answers as it is told; its address. */
export async function answering(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that always answers with this. */
export const serving = (value: unknown): Promise<string> =>
  answering((_, response) => void response.end(JSON.stringify(value)));
