import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, getGlobalDispatcher, setGlobalDispatcher, type Dispatcher as Undici } from 'undici';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type GateOptions, gate } from '../../../src/adapters/undici.ts';
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherEvent,
  type DownstreamPolicyInput,
  type PolicyInput,
} from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';
import { type Handler, TestServer } from '../support/server.ts';

const before = getGlobalDispatcher();

/** A server for the tests of a file, and agents that are closed after each. */
export class Bench {
  readonly agents: Undici[] = [];
  #server!: TestServer;

  constructor() {
    beforeAll(async () => {
      this.#server = await TestServer.start();
    });
    afterEach(async () => {
      setGlobalDispatcher(before);
      this.#server.answers((_, response) => void response.end('ok'));
      await Promise.all(this.agents.splice(0).map((agent) => agent.destroy()));
    });
    afterAll(() => this.#server.close());
  }

  get server(): TestServer {
    return this.#server;
  }

  rig(options: GateOptions = {}, policy: DownstreamPolicyInput = {}) {
    const clock = new ManualClock();
    const carrier = { hosts: [this.#server.host], ...policy };
    const dispatcher = createDispatcher<PolicyInput>({ downstreams: { carrier } }, { clock, alertSinks: [], env: {} });
    const events: DispatcherEvent[] = [];
    dispatcher.subscribe((event) => events.push(event));
    const agent = new Agent();
    this.agents.push(agent);
    const count = (type: string) => events.filter((event) => event.type === type).length;
    const outcomes = () => events.flatMap((event) => (event.type === 'settled' ? [event.outcome] : []));
    return { clock, dispatcher, agent, gated: agent.compose(gate(dispatcher, options)), events, count, outcomes };
  }
}

export const running = (dispatcher: Dispatcher) => dispatcher.snapshot().downstreams[0]?.running;
export const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

/** Real time, for what a server and a manual clock do together. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(1);
}

export const limited: Handler = (_, response) => {
  response.writeHead(429, { 'retry-after': '7' });
  response.end('no');
};
