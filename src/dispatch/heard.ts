import type { QuotaReading } from '../base/verdict.ts';
import type { Gate } from '../model/gate.ts';
import type { LanePorts } from './ports.ts';

/** What hearing needs of its lane. */
export interface HeardHost {
  readonly name: string;
  readonly gate: Gate;
  readonly ports: LanePorts;
}

/** What a lane has heard of the server's own counters, in answers of every outcome. */
export class Heard {
  readonly #host: HeardHost;

  constructor(host: HeardHost) {
    this.#host = host;
  }

  /** `startNumber`: of the call that was answered; undefined where nobody knows. */
  hear(_quotas: readonly QuotaReading[], _startNumber: number | undefined): void {
    void this.#host;
  }
}
