import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Model } from '@openai/agents';
import type { LanguageModel, Tool } from 'ai';
import type Bottleneck from 'bottleneck';
import type { DynamicStructuredTool } from 'langchain';
import type * as zod from 'zod';
import type { UngatedWatch } from '../../src/adapters/guard.ts';
import { typesModule } from '../../src/cli/types-module.ts';
import type { Dispatcher, PolicyInput } from '../../src/index.ts';

/** What a page means by a name that its code uses and does not declare (`<!-- given: ... -->`). */
export interface Given {
  readonly dispatcher: Dispatcher;
  readonly watch: UngatedWatch;
  readonly limiter: Bottleneck;
  readonly client: Client;
  readonly server: McpServer;
  readonly z: typeof zod;
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

/** The same names mean other things in other runtimes. */
export interface Runtimes {
  readonly 'docs/agents.md Vercel AI SDK': {
    readonly model: LanguageModel;
    readonly search: Tool<object, string>;
    readonly status: Tool<object, string>;
  };
  readonly 'docs/agents.md OpenAI Agents': {
    readonly model: Model;
    readonly schema: zod.ZodObject;
    readonly readStatus: () => Promise<string>;
  };
  readonly 'docs/agents.md LangChain and LangGraph': LangChain;
  readonly 'docs/agents.md LangChain and LangGraph #2': LangChain;
}

interface LangChain {
  readonly model: BaseChatModel;
  readonly search: DynamicStructuredTool;
  readonly status: DynamicStructuredTool;
  readonly tools: DynamicStructuredTool[];
  readonly downstreams: Readonly<Record<string, 'web' | 'carrier'>>;
}

/** What the code of one block takes for granted. */
export type GivenIn<Place extends string> = Place extends keyof Runtimes
  ? Runtimes[Place] & Omit<Given, keyof Runtimes[Place]>
  : Given;

/** Modules that a page tells its reader to have beside the code. */
export const NEIGHBOURS: Readonly<Record<string, string>> = {
  'downstreams.ts': typesModule('config/downstreams.yaml', ['carrier', 'search']),
  'gate.ts': "import type { Dispatcher } from 'penstock';\nexport declare const dispatcher: Dispatcher<'carrier'>;\n",
  'instrumentation.mts': 'export declare const sdk: { shutdown(): Promise<void> };\n',
};
