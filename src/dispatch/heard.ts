import type { QuotaReading } from '../base/verdict.ts';
import { Witness, type WitnessHost } from './witness.ts';

/** What hearing needs of its lane. */
export type HeardHost = WitnessHost;

/** What a lane has heard of the server's own counters, in answers of every outcome. */
export class Heard {
  readonly witness: Witness;

  constructor(host: HeardHost) {
    this.witness = new Witness(host);
  }

  /** `startNumber`: of the call that was answered; undefined where nobody knows. */
  hear(quotas: readonly QuotaReading[], startNumber: number | undefined): void {
    this.witness.hear(quotas, startNumber);
  }
}
