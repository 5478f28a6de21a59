/**
 * What the compiler must accept and refuse of the public API. Nothing here runs: `npm run types` checks
 * it, and so does docs.test.ts beside it, which looks at the result.
 */
import {
  type Alert,
  type CallContext,
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
  type DownstreamPolicyInput,
  type ForecastAsk,
  type Lease,
  loadPolicy,
  type PolicyInput,
} from '../../src/index.ts';
import { openDispatcher, refusingDispatcher } from '../../src/testing.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only where the two types are one. */
function same<A, B>(_proof: Same<A, B>): void {}

const byObject = () =>
  createDispatcher({ downstreams: { carrier: { quota: '60/minute' }, search: { unlimited: true } } });

/** Names of an object policy are checked. */
export async function names(): Promise<void> {
  const { callDownstream, acquire, wrap, forecast, pause, unregister, names: known } = byObject();
  same<ReturnType<typeof known>, ('carrier' | 'search')[]>(true);
  await callDownstream('search', () => 1);
  // @ts-expect-error a misspelt name
  await callDownstream('carier', () => 1);
  // @ts-expect-error
  await acquire('carier');
  // @ts-expect-error
  wrap('carier', () => 1);
  // @ts-expect-error
  forecast('carier');
  // @ts-expect-error
  pause('carier', { for: '1m' });
  // @ts-expect-error
  unregister('carier');
  const { callDownstream: inBatch } = byObject().with({ priority: 'batch' });
  await inBatch('carrier', () => 1);
  // @ts-expect-error what `with` returns knows the same names
  await inBatch('carier', () => 1);
  await byObject()
    .register('mail', { quota: '12/second' })
    .callDownstream('mail', () => 1);
}

/** Names of a file are texts, or the union that `penstock types` writes. */
export async function filed(): Promise<void> {
  const open = createDispatcher(await loadPolicy('config/downstreams.yaml'));
  same<Parameters<typeof open.unregister>[0], string>(true);
  const narrow = createDispatcher(await loadPolicy<'carrier' | 'mail'>('config/downstreams.yaml'));
  await narrow.callDownstream('mail', () => 1);
  // @ts-expect-error
  await narrow.callDownstream('warehouse', () => 1);
}

/** The type of the answer follows from `fn`: a promise's value, a plain value, never a promise of a promise. */
export async function answers(maybe: number | Promise<number>): Promise<void> {
  const { callDownstream, wrap } = byObject();
  const response = callDownstream('carrier', ({ signal }) => fetch('https://carrier.example', { signal }));
  same<typeof response, Promise<Response>>(true);
  const plain = callDownstream('carrier', (call) => call.waitedMs);
  same<typeof plain, Promise<number>>(true);
  const either = callDownstream('carrier', () => maybe);
  same<typeof either, Promise<number>>(true);
  const nothing = callDownstream('carrier', async () => {});
  same<typeof nothing, Promise<void>>(true);
  const nested = callDownstream('carrier', (call) => call.run(async () => 'inner'));
  same<typeof nested, Promise<string>>(true);
  const wrapped = wrap('carrier', async (id: string, isUrgent?: boolean) => ({ id, isUrgent }));
  same<Parameters<typeof wrapped>, [id: string, isUrgent?: boolean | undefined]>(true);
  same<ReturnType<typeof wrapped>, Promise<{ id: string; isUrgent: boolean | undefined }>>(true);
  const asArgument: <T>(fn: () => Promise<T>) => Promise<T> = (fn) => callDownstream('carrier', fn);
  await asArgument(() => Promise.resolve(1));
}

/** Every optional field takes undefined, under exactOptionalPropertyTypes too. */
type AllUndefined<T> = { readonly [K in keyof Required<T>]: undefined };
export function undefinedFields(
  context: AllUndefined<CallContext>,
  options: AllUndefined<DownstreamPolicyInput>,
  dispatcherOptions: AllUndefined<DispatcherOptions>,
  ask: AllUndefined<ForecastAsk>,
): [CallContext, DownstreamPolicyInput, DispatcherOptions, ForecastAsk] {
  return [context, options, dispatcherOptions, ask];
}

/** Bad contexts are refused where the compiler can see it. */
export async function contexts(): Promise<void> {
  const { callDownstream } = byObject();
  // @ts-expect-error a duration is no instant
  await callDownstream('carrier', () => 1, { deadline: '30s' });
  // @ts-expect-error no such class
  await callDownstream('carrier', () => 1, { priority: 'urgent' });
  // @ts-expect-error no such field
  await callDownstream('carrier', () => 1, { timeout: 30_000 });
  // @ts-expect-error fn is needed
  await callDownstream('carrier');
}

/** Members are functions in properties: they may be destructured, and passed on where fewer names are known. */
export function members(dispatcher: Dispatcher<'carrier'>): void {
  const { callDownstream, acquire, report, snapshot, subscribe, close } = dispatcher;
  const lease: Promise<Lease> = acquire('carrier');
  void lease.then(({ release }) => release());
  report('carrier', { status: 429, retryAfterMs: 1_000 }, { startedAt: undefined });
  const stop: () => void = subscribe((event) => {
    if (event.type === 'refused') same<typeof event.callId, number>(true);
    if (event.type === 'held') same<typeof event.until, number>(true);
    // @ts-expect-error a hold has no call
    if (event.type === 'held') event.callId;
  });
  stop();
  void [callDownstream, snapshot, close];
  // A tool asks for the names it needs; whoever knows those and more will do, doubles included.
  const tool = (_: Dispatcher<'carrier'>['callDownstream']): void => {};
  tool(callDownstream);
  tool(byObject().callDownstream);
  tool(openDispatcher().callDownstream);
  tool(refusingDispatcher('RATE_LIMITED').callDownstream);
  // @ts-expect-error the carrier is not among its names
  tool(createDispatcher({ downstreams: { mail: {} } }).callDownstream);
}

/** A policy that is put together elsewhere needs no `as const`. */
export function policies(quota: string): void {
  const policy: PolicyInput = {
    defaults: { maxWait: '20s' },
    downstreams: { carrier: { quota, maxQueueDepth: undefined } },
  };
  createDispatcher(policy, { onAlert: (alert) => same<typeof alert, Alert>(true), clock: undefined, alertSinks: [] });
  // @ts-expect-error a misspelt option
  createDispatcher({ downstreams: { carrier: { maxConcurent: 4 } } });
  // @ts-expect-error codes are a closed list
  refusingDispatcher('RATE_LIMIT');
}
