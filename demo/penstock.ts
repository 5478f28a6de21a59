import { type Alert, type AlertSink, createDispatcher, type Dispatcher } from '../src/index.ts';
import { type Ask, type Contestant, patience, request } from './contestant.ts';
import { backoffMs, THREE_RETRIES, withRetries } from './retries.ts';
import { inHttpSpan, inToolSpan } from './tracing.ts';

/** The policy both scenes use. Durations are a sixtieth of what a real policy would say. */
export const POLICY = {
  downstreams: {
    carrier: {
      quota: '60/second',
      owner: 'logistics',
      source: 'contract of 2019',
      pauseAbove: '500ms',
      cooldown: { base: '35ms', max: '500ms' },
    },
  },
} as const;

export interface Gated extends Contestant {
  readonly dispatcher: Dispatcher<'carrier'>;
}

export interface AlertListeners {
  readonly onAlert?: (alert: Alert) => void;
  readonly alertSinks?: AlertSink[];
}

/** Every attempt passes `callDownstream`; a retry after a 429 does not sleep, for the lane holds it back. */
export function penstock(url: string, listeners: AlertListeners = {}): Gated {
  const dispatcher = createDispatcher(POLICY, { name: 'demo', ...listeners });
  const attempt = (call: Ask, signal: AbortSignal | undefined) =>
    dispatcher.callDownstream('carrier', () => inHttpSpan(() => request(url, call, signal)), {
      priority: call.kind === 'customer' ? 'interactive' : 'batch',
      runId: call.kind === 'customer' ? 'customer-chat' : 'ticket-fan-out',
      tool: call.tool,
      deadline: call.deadline,
      signal,
    });
  return {
    name: 'Penstock',
    how: 'quota 60/second, default burst; tickets are batch, the customer interactive with a deadline',
    dispatcher,
    ask(call) {
      const signal = patience(call);
      const waitBefore = (response: Response, n: number) =>
        response.status === 429 ? 0 : backoffMs(THREE_RETRIES, n, response.headers.get('retry-after'));
      return inToolSpan(call, () => withRetries(() => attempt(call, signal), signal, waitBefore));
    },
    async close() {
      await dispatcher.close({ within: '2s' });
    },
  };
}
