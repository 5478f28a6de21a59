export { DeliveryFailed, type PacedSink } from './alerts/sink.ts';
export { type StderrSinkOptions, stderrSink } from './alerts/stderr.ts';
export type {
  Alert,
  AlertName,
  AlertSeverity,
  AlertSink,
  Hypothesis,
  ServerWord,
  Suggestion,
  WindowCount,
} from './base/alert.ts';
export type { Clock } from './base/clock.ts';
export {
  AdmissionError,
  CallCancelled,
  CostExceedsQuota,
  DeadlineExceeded,
  type DeadlinePhase,
  DispatcherClosed,
  DownstreamPaused,
  type ErrorCode,
  InvalidCall,
  isAdmissionError,
  PolicyError,
  type PolicyProblem,
  QueueFull,
  QueueTimeout,
  UnknownDownstream,
} from './base/errors.ts';
export type { CallEvent, DispatcherEvent, HoldEvent, NoticeEvent, PolicyEvent } from './base/events.ts';
export type { HoldState, PolicyChange } from './base/plan.ts';
export type {
  ClaimedHost,
  ClassSnapshot,
  DownstreamSnapshot,
  HeardSnapshot,
  InventorySnapshot,
  LaneTotals,
  QuotaSnapshot,
  RecentSnapshot,
  SeenHost,
  Snapshot,
  TopEntry,
  TopSnapshot,
} from './base/snapshot.ts';
export type { Classifier, QuotaReading, Verdict } from './base/verdict.ts';
export type { Cost, Duration, HoldCause, LimitedBy, Mode, Outcome, Priority } from './base/words.ts';
export type { Call, CallContext, Lease, WaitReport } from './dispatch/context.ts';
export type { Forecast, ForecastAsk } from './dispatch/forecast.ts';
export {
  type CancelAsk,
  type ClosingReport,
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
  type NamesOf,
} from './dispatcher.ts';
export { type Explanation, explain } from './explain.ts';
export { awsPartial, graphql, jsonBody, mcpToolResult } from './feedback/classifiers.ts';
export type { CodeOutcome } from './feedback/code-rows.ts';
export type { DownstreamPolicyInput, Policy, PolicyInput, QuotaInput } from './policy/input.ts';
export { loadPolicy, type PolicyFiles } from './policy/load.ts';
export { type PolicyTarget, type PolicyWatch, type WatchOptions, watchPolicy } from './policy/watch.ts';
export type { TelemetryOptions } from './telemetry/telemetry.ts';
