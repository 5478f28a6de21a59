import type { Alert } from '../base/alert.ts';
import { HOST_ACCOUNT } from '../base/hosts.ts';

/** What an alert is about: a downstream, and where that has a lane per host, the host. */
export function subjectOf({ downstream, lane }: Pick<Alert, 'downstream' | 'lane'>): string {
  return lane === undefined ? downstream : `${downstream} (${lane.slice(HOST_ACCOUNT.length)})`;
}
