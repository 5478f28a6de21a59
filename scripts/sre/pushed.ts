import type { AlertName } from '../../src/base/alert.ts';

/** What Penstock pushes by itself: the severity it comes with, and what it says in one line. */
export const PUSHED: Readonly<Record<AlertName, { readonly severity: string; readonly says: string }>> = {
  QuotaModelWrong: {
    severity: 'warning; critical where calls are refused or it is the third in a row; info without a quota',
    says: 'A downstream answered 429.',
  },
  QuotaExhausted: { severity: 'critical', says: 'A quota is used up that waiting for seconds does not cure.' },
  QuotaDrift: { severity: 'info', says: 'The server names another limit than the policy.' },
  OtherConsumer: { severity: 'info', says: 'Somebody else uses the same credential.' },
  LaneStalled: { severity: 'critical', says: 'Calls do not end, and others wait for their places.' },
  UngatedRequest: { severity: 'warning', says: 'A request reached a downstream without passing the gate.' },
  PolicyRejected: { severity: 'warning', says: 'A changed policy was not taken; the old one is in force.' },
  SinkFailing: { severity: 'warning', says: 'A sink does not take alerts.' },
};
