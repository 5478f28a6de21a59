import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import axios from 'axios';
import got from 'got';
import nodeFetch from 'node-fetch';
import { fetch as undiciFetch, request as undiciRequest } from 'undici';
import { afterEach } from 'vitest';
import { watchUngated } from '../../../src/adapters/guard.ts';
import type { AlertSink } from '../../../src/alerts.ts';
import { type Alert, createDispatcher, type DispatcherEvent } from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

export function later(end: () => unknown): void {
  ends.push(end);
}

export type Answering = (request: IncomingMessage, response: ServerResponse) => void;

/** A server on the loopback interface; `host` is what a policy would claim. */
export async function serving(answer: Answering = (_, response) => response.end('{}')) {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  later(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, url: `http://${host}` };
}

/** A dispatcher whose downstreams claim hosts, watched. */
export function watching(
  downstreams: Record<string, object>,
  { sinks = [], hiddenRetries }: { sinks?: AlertSink[]; hiddenRetries?: boolean } = {},
) {
  const clock = new ManualClock();
  const alerts: Alert[] = [];
  const events: DispatcherEvent[] = [];
  const dispatcher = createDispatcher(
    { downstreams },
    { env: {}, clock, alertSinks: sinks, onAlert: (alert) => alerts.push(alert) },
  );
  const watch = watchUngated(dispatcher, { hiddenRetries });
  later(() => watch.stop());
  dispatcher.subscribe((event) => events.push(event));
  const details = (type: 'ungated-request' | 'hidden-retries'): string[] =>
    events.flatMap((event) => (event.type === type ? [event.detail] : []));
  return { clock, alerts, dispatcher, watch, details };
}

/** What people call HTTP with. */
export const CLIENTS: readonly (readonly [string, (url: string) => Promise<unknown>])[] = [
  ['fetch of Node', async (url) => (await fetch(url)).text()],
  ['fetch of undici', async (url) => (await undiciFetch(url)).text()],
  ['request of undici', async (url) => (await undiciRequest(url)).body.text()],
  [
    'get of node:http',
    (url) =>
      new Promise((resolve, reject) => {
        get(url, (response) => response.resume().on('end', resolve)).on('error', reject);
      }),
  ],
  ['axios', (url) => axios.get(url)],
  ['got', (url) => got(url).text()],
  ['node-fetch', async (url) => (await nodeFetch(url)).text()],
];
