import type { Alert } from '../../src/base/alert.ts';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../../src/dispatcher.ts';
import type { DownstreamPolicyInput, PolicyInput } from '../../src/policy/input.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';
import { FakeDownstream, type FakeDownstreamOptions, ManualClock } from '../../src/testing.ts';

/** Which answers carry headers: all of them, or only those that refuse. */
export type Tells = 'always' | 'refusals';

/** A downstream, a dispatcher in front of it, and somebody who calls at a steady pace. */
export class Diagnosed {
  readonly clock = new ManualClock();
  readonly alerts: Alert[] = [];
  readonly server: FakeDownstream;
  readonly policy: DownstreamPolicyInput;
  readonly #options: DispatcherOptions;
  readonly #tells: Tells;
  #dispatcher: Dispatcher | undefined;

  constructor(
    policy: DownstreamPolicyInput,
    server: Omit<FakeDownstreamOptions, 'clock'>,
    { tells = 'always', ...options }: Omit<DispatcherOptions, 'clock' | 'onAlert'> & { tells?: Tells } = {},
  ) {
    this.#tells = tells;
    this.policy = policy;
    this.server = new FakeDownstream({ clock: this.clock, ...server });
    this.#options = { alertSinks: [], env: {}, ...options };
  }

  /** Made at the first call: what has happened before, it does not know. */
  get dispatcher(): Dispatcher {
    this.#dispatcher ??= createDispatcher<PolicyInput>(
      { downstreams: { carrier: this.policy } },
      { ...this.#options, clock: this.clock, onAlert: (alert) => this.alerts.push(alert) },
    );
    return this.#dispatcher;
  }

  /** One call; its way to the server and back takes as long as it is said to. */
  call({ account, toMs = 0, backMs = 0 }: { account?: string; toMs?: number; backMs?: number } = {}): void {
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => this.clock.setTimer(ms, resolve));
    const run = async (): Promise<Response> => {
      if (toMs > 0) await sleep(toMs);
      const answer = this.server.call();
      const response = this.#tells === 'refusals' && answer.ok ? new Response(null) : answer;
      if (backMs > 0) await sleep(backMs);
      return response;
    };
    void this.dispatcher.callDownstream('carrier', run, { account }).catch(() => undefined);
  }

  /** Calls, `batch` at once, every so many milliseconds, for so long, or until an alert of that name. */
  async run(
    everyMs: number,
    forMs: number,
    { batch = 1, until }: { batch?: number; until?: Alert['name'] } = {},
  ): Promise<void> {
    const endMs = this.clock.now() + forMs;
    while (this.clock.now() < endMs && !this.alerts.some(({ name }) => name === until)) {
      for (let n = 0; n < batch; n++) this.call();
      await this.clock.advance(everyMs);
    }
  }

  /** The first alert of a name; throws where there is none. */
  first(name: Alert['name']): Alert {
    const alert = this.alerts.find((one) => one.name === name);
    if (alert === undefined) throw new Error(`no ${name}; there are ${this.alerts.map((one) => one.name).join(', ')}`);
    return alert;
  }

  close(): Promise<unknown> {
    return this.dispatcher.close({ within: 0 });
  }
}

/** The options of `carrier` with a suggestion applied; throws where the policy is not accepted with it. */
export function applied(policy: DownstreamPolicyInput, { suggestion }: Alert): DownstreamPolicyInput {
  if (suggestion === undefined) throw new Error('nothing is suggested');
  const [, , option] = suggestion.path.split('.');
  const changed =
    option === undefined
      ? (suggestion.to as DownstreamPolicyInput)
      : ({ ...policy, [option]: suggestion.to } as DownstreamPolicyInput);
  resolvePolicy({ downstreams: { carrier: changed } }, { env: {} });
  return changed;
}

/** What the second part of an explanation says: its numbers, in order. */
export function numbersOf(text: string): number[] {
  return [...text.matchAll(/\d+(?:\.\d+)?/g)].map(([number]) => Number(number));
}
