import type { DispatcherEvent } from '../../../src/base/events.ts';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../../../src/dispatcher.ts';
import type { DownstreamPolicyInput, PolicyInput } from '../../../src/policy/input.ts';
import { ManualClock, type Start } from '../../../src/testing.ts';

/** A dispatcher on a manual clock, and when its calls started. */
export class Lab {
  readonly clock = new ManualClock();
  readonly dispatcher: Dispatcher;
  readonly starts: Start[] = [];
  readonly events: DispatcherEvent[] = [];
  readonly errors: unknown[] = [];
  settled = 0;

  constructor(downstreams: Record<string, DownstreamPolicyInput>, options: DispatcherOptions = {}) {
    const policy: PolicyInput = { downstreams };
    this.dispatcher = createDispatcher(policy, { clock: this.clock, alertSinks: [], env: {}, ...options });
    this.dispatcher.subscribe((event) => this.events.push(event));
  }

  make(
    count: number,
    ctx: { cost?: Record<string, number>; tool?: string; account?: string } = {},
    to = 'api',
    runMs = 0,
  ): void {
    for (let i = 0; i < count; i++) {
      const run = (): unknown => {
        this.starts.push({ atMs: this.clock.now(), cost: ctx.cost?.tokens ?? 1 });
        return runMs === 0 ? undefined : new Promise<void>((done) => void this.clock.setTimer(runMs, done));
      };
      this.dispatcher.callDownstream(to, run, ctx).then(
        () => this.settled++,
        (error) => this.errors.push(error),
      );
    }
  }

  apply(downstreams: Record<string, DownstreamPolicyInput>) {
    return this.dispatcher.apply({ downstreams });
  }

  /** Starts of the last so many milliseconds. */
  since(ms: number): number {
    const from = this.clock.now() - ms;
    return this.starts.filter(({ atMs }) => atMs > from).length;
  }

  snap(name = 'api') {
    return this.dispatcher.snapshot().downstreams.find(({ downstream }) => downstream === name);
  }
}
