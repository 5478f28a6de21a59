import type { Dispatcher, PolicyInput } from '../../src/index.ts';

/** What a page means by a name that its code uses and does not declare (`<!-- given: ... -->`). */
export interface Given {
  readonly callDownstream: Dispatcher['callDownstream'];
  readonly forecast: Dispatcher['forecast'];
  readonly report: Dispatcher['report'];
  readonly policy: PolicyInput;
  readonly id: string;
  readonly runId: string;
  readonly mayRead: (user: string, id: string) => boolean;
  readonly copies: Map<string, { readonly id: string; readonly state: string }>;
  readonly askCarrier: (id: string, signal: AbortSignal) => Promise<Response>;
  readonly readStatus: (id: string, signal?: AbortSignal) => Promise<string>;
  readonly cancelDelivery: (id: string) => Promise<Response>;
  readonly jobs: { putBack(id: string, options: { readonly delayMs: number }): void };
  readonly onSuggestion: (text: string) => void;
}
