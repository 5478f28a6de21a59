import { alertBlock } from '../../../src/alerts/stderr.ts';
import type { Alert } from '../../../src/base/alert.ts';
import type { DownstreamPolicyInput } from '../../../src/policy/input.ts';
import { Diagnosed } from '../../support/diagnosed.ts';

const MINUTE = 60_000;
const POLICY: DownstreamPolicyInput = { quota: '60/minute', owner: 'logistics' };
const sixty = { limit: 60, windowMs: MINUTE, headers: 'ietf' as const };

/** A lane that hears of a limit in every answer stops in time, and is not refused. */
const REFUSALS = { tells: 'refusals' } as const;

/** The alert of `carrier` that a page shows under each heading, as it comes about. */
export const SHOWN: Readonly<Record<string, () => Promise<Alert>>> = {
  'limit-changed': () => firstOf('QuotaModelWrong', new Diagnosed(POLICY, { ...sixty, limit: 40 }, REFUSALS)),
  'other-consumer': () => {
    const world = new Diagnosed(POLICY, sixty, REFUSALS);
    world.server.addConsumer({ name: 'nightly sync', everyMs: 2_000 });
    return firstOf('QuotaModelWrong', world);
  },
  'policy-too-wide': () => {
    const quota = { limit: 60, per: 'minute', providerBurst: 60 };
    return firstOf('QuotaModelWrong', new Diagnosed({ ...POLICY, quota }, sixty, REFUSALS), 300);
  },
  'hidden-window': () => {
    const limits = [sixty, { limit: 3, windowMs: 1_000, isHidden: true }];
    return firstOf('QuotaModelWrong', new Diagnosed(POLICY, { limits, headers: 'ietf' }), 20_000, 4);
  },
  restart: async () => {
    const world = new Diagnosed(POLICY, sixty, REFUSALS);
    for (let n = 0; n < 50; n++) world.server.call('the process before');
    await world.clock.advance(5_000);
    return firstOf('QuotaModelWrong', world);
  },
  unknown: async () => {
    const world = new Diagnosed(POLICY, { limit: 60, windowMs: MINUTE });
    await world.run(5_000, 2 * MINUTE);
    world.server.setLimit(40);
    return firstOf('QuotaModelWrong', world);
  },
  QuotaDrift: () => firstOf('QuotaDrift', new Diagnosed(POLICY, { ...sixty, limit: 40 }), 5_000),
  OtherConsumer: () => {
    const world = new Diagnosed(POLICY, sixty);
    world.server.addConsumer({ name: 'nightly sync', everyMs: 2_500 });
    return firstOf('OtherConsumer', world, 4_000);
  },
};

/** An alert as a terminal shows it; the process's own name is made up each time. */
export function shown(alert: Alert): string {
  return alertBlock(alert).trimEnd().replaceAll(alert.origin.instance, 'k3v9qz1x');
}

async function firstOf(name: Alert['name'], world: Diagnosed, everyMs = 500, batch = 1): Promise<Alert> {
  await world.run(everyMs, 10 * MINUTE, { batch, until: name });
  await world.close();
  return world.first(name);
}
