import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type NodeRequest, nodeOrigin, type UndiciRequest, undiciOrigin } from './address.ts';

/** A request as it begins. */
export interface Seen {
  readonly origin: string;
  /** What its `host` header says, where it has one of its own. */
  readonly name: unknown;
  readonly method: unknown;
  readonly isUndici: boolean;
}

export interface Listener {
  /** In the async context of whoever made it, as far as the client keeps that. */
  readonly sent: (request: object, seen: Seen) => void;
  /** Its answer names another address. */
  readonly redirected: (request: object) => void;
}

export interface Listening {
  readonly stop: () => void;
}

const REDIRECTS: ReadonlySet<unknown> = new Set([301, 302, 303, 307, 308]);

/** Listens to every copy of undici in the process, the one in Node included, and to node:http and node:https. */
export function listen(listener: Listener): Listening {
  const channels: Readonly<Record<string, (message: unknown) => void>> = {
    'undici:request:create': guarded(({ request }) => {
      const { host, method } = request as UndiciRequest;
      listener.sent(request, { origin: undiciOrigin(request), name: host ?? undefined, method, isUndici: true });
    }),
    'undici:request:headers': guarded(({ request, response }) => {
      if (REDIRECTS.has(response?.statusCode)) listener.redirected(request);
    }),
    'http.client.request.start': guarded(({ request }) => {
      const { method } = request as NodeRequest;
      listener.sent(request, { origin: nodeOrigin(request), name: undefined, method, isUndici: false });
    }),
    'http.client.response.finish': guarded(({ request, response }) => {
      if (REDIRECTS.has(response?.statusCode)) listener.redirected(request);
    }),
  };
  for (const [name, heard] of Object.entries(channels)) subscribe(name, heard);
  return {
    stop: () => {
      for (const [name, heard] of Object.entries(channels)) unsubscribe(name, heard);
    },
  };
}

interface Message {
  readonly request: object;
  readonly response?: { readonly statusCode?: unknown };
}

/** What a listener of a channel throws would end the process. */
function guarded(heard: (message: Message) => void): (message: unknown) => void {
  return (message) => {
    try {
      heard(message as Message);
    } catch {
      // A request that cannot be read is nobody's finding.
    }
  };
}
