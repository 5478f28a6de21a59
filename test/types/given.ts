import type Bottleneck from 'bottleneck';
import type { UngatedWatch } from '../../src/adapters/guard.ts';
import { typesModule } from '../../src/cli/types-module.ts';
import type { Dispatcher, PolicyInput } from '../../src/index.ts';

/** What a page means by a name that its code uses and does not declare (`<!-- given: ... -->`). */
export interface Given {
  readonly dispatcher: Dispatcher;
  readonly watch: UngatedWatch;
  readonly limiter: Bottleneck;
  readonly callDownstream: Dispatcher['callDownstream'];
  readonly acquire: Dispatcher['acquire'];
  readonly wrap: Dispatcher['wrap'];
  readonly subscribe: Dispatcher['subscribe'];
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
  readonly askModel: (
    prompt: string,
    signal: AbortSignal,
  ) => Promise<{ readonly text: string; readonly tokens: number }>;
  readonly jobs: { take(): Promise<string | undefined>; putBack(id: string): Promise<void> };
  readonly log: (line: string) => void;
  readonly port: number;
  readonly onSuggestion: (text: string) => void;
}

/** Modules that a page tells its reader to have beside the code. */
export const NEIGHBOURS: Readonly<Record<string, string>> = {
  'downstreams.ts': typesModule('config/downstreams.yaml', ['carrier', 'search']),
  'instrumentation.mts': 'export declare const sdk: { shutdown(): Promise<void> };\n',
};
