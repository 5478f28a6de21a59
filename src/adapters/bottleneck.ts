/** For whoever has Bottleneck today: a policy from its settings, and a limiter as what hands out a lane's turns. */
export type { EngineMaker } from '../dispatch/engine.ts';
export type { BottleneckPolicy, Carried, NotCarried } from './bottleneck/found.ts';
export { bottleneckEngine, type GroupLike } from './bottleneck/handed-in.ts';
export type { LimiterLike } from './bottleneck/limiter.ts';
export { type FromBottleneck, policyFromBottleneck } from './bottleneck/policy.ts';
