import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import axios from 'axios';
import got from 'got';
import nodeFetch from 'node-fetch';
import { Agent, interceptors, RetryAgent, fetch as undiciFetch, request as undiciRequest } from 'undici';

/** A client as people use it, its own retries off. */
export interface HttpClient {
  readonly name: string;
  /** Which way it says that a status was none of success: of all of them, or of these alone. */
  readonly how: 'thrown' | 'returned';
  readonly throwsOnly?: readonly number[];
  readonly call: (url: string, signal?: AbortSignal) => Promise<unknown>;
  /** Reads the body of a response that came with it unread. */
  readonly read?: (response: never) => Promise<string>;
}

/** Which way a client says this status. */
export function howOf({ how, throwsOnly }: HttpClient, status: number): 'thrown' | 'returned' {
  return status < 400 || throwsOnly?.includes(status) === false ? 'returned' : how;
}

const errors = new Agent();
const retries = new Agent();

export async function closeAgents(): Promise<void> {
  await Promise.all([errors.close(), retries.close()]);
}

/** What a signal adds to a client's options: under exactOptionalPropertyTypes, nothing where there is none. */
function on(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

const RESPONSES: readonly HttpClient[] = [
  {
    name: 'fetch',
    how: 'returned',
    call: (url, signal) => fetch(url, on(signal)),
    read: (response: Response) => response.text(),
  },
  {
    name: 'undici.fetch',
    how: 'returned',
    call: (url, signal) => undiciFetch(url, on(signal)),
    read: (response: Response) => response.text(),
  },
  {
    name: 'undici.request',
    how: 'returned',
    call: (url, signal) => undiciRequest(url, on(signal)),
    read: ({ body }: { body: Response }) => body.text(),
  },
  {
    name: 'node-fetch',
    how: 'returned',
    call: (url, signal) => nodeFetch(url, on(signal)),
    read: (response: Response) => response.text(),
  },
  {
    name: 'node:http',
    how: 'returned',
    call: async (url, signal) => {
      const [response] = await once(get(url, { ...on(signal), agent: false }), 'response');
      return response;
    },
    read: (response: IncomingMessage) => text(response),
  },
];

const LIBRARIES: readonly HttpClient[] = [
  { name: 'axios', how: 'thrown', call: (url, signal) => axios.get(url, { proxy: false, ...on(signal) }) },
  {
    name: 'axios over fetch',
    how: 'thrown',
    call: (url, signal) => axios.get(url, { adapter: 'fetch', ...on(signal) }),
  },
  {
    name: 'axios that accepts every status',
    how: 'returned',
    call: (url, signal) => axios.get(url, { proxy: false, validateStatus: () => true, ...on(signal) }),
  },
  { name: 'got', how: 'thrown', call: async (url, signal) => await got(url, { retry: { limit: 0 }, ...on(signal) }) },
  {
    name: 'got that throws no HTTP errors',
    how: 'returned',
    call: async (url, signal) => await got(url, { retry: { limit: 0 }, throwHttpErrors: false, ...on(signal) }),
  },
  {
    name: 'undici with responseError',
    how: 'thrown',
    call: (url, signal) =>
      undiciRequest(url, { dispatcher: errors.compose(interceptors.responseError()), ...on(signal) }),
  },
  {
    name: 'undici.RetryAgent',
    how: 'thrown',
    throwsOnly: [429, 500, 502, 503, 504],
    call: (url, signal) =>
      undiciRequest(url, { dispatcher: new RetryAgent(retries, { maxRetries: 0 }), ...on(signal) }),
  },
];

export const HTTP_CLIENTS: readonly HttpClient[] = [...RESPONSES, ...LIBRARIES];
