import type { AlertFacts } from '../base/alert.ts';
import type { EventBus } from '../base/bus.ts';
import type { Clock } from '../base/clock.ts';
import type { Watching } from '../base/inside.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import type { Judge, Verdict } from '../base/verdict.ts';
import type { Spoken } from '../model/spoken.ts';
import type { EngineMaker } from './engine.ts';
import type { Recent } from './recent.ts';
import type { SignalHub } from './signals.ts';
import type { Slices } from './slices.ts';
import type { Top } from './top.ts';

/** What a lane gets from the dispatcher it belongs to. */
export interface LanePorts {
  readonly clock: Clock;
  readonly bus: EventBus;
  readonly signals: SignalHub;
  /** Who stands around every call. */
  readonly watching: Watching;
  readonly slices: Slices;
  /** Another one under another policy. */
  judge: Judge;
  /** Of what was seen elsewhere, or is handed over with a lease: thrown, returned, or said in short. */
  readonly judgeSeen: (outcome: unknown) => Verdict;
  readonly raise: (facts: AlertFacts) => void;
  /** What has been said of this downstream without any 429, whichever of its lanes said it. */
  readonly spoken: Spoken;
  /** What the last minute of this downstream was like, all its lanes together. */
  readonly recent: Recent;
  /** Who uses the downstream most, in whichever of its lanes. */
  readonly top: Top;
  /** What hands out turns under a plan; undefined: the lane itself. */
  readonly engineFor: (plan: DownstreamPlan) => EngineMaker | undefined;
  readonly random: () => number;
  readonly nextCallId: () => number;
  readonly nextIncidentId: () => string;
  /** A lane that was shut has come to rest. */
  readonly rested: () => void;
  /** Monotonic milliseconds at which the dispatcher was made. */
  readonly bornAt: number;
}
