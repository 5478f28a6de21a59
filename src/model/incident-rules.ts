/**
 * Incidents of one kind form a row: `quota` for 429s, `overload` for a server that cannot keep up,
 * `exhausted` for a quota that waiting seconds does not cure.
 */
export type RowKind = 'quota' | 'overload' | 'exhausted';

/**
 * `calm`: no incident since the last success, nothing held. `held`: the hold of an incident is in force.
 * `asking`: it is over, and no success from after it has come back. `cleared`: such a success has come, and
 * a hold that a later answer asked for is still in force.
 */
export type RowState = 'calm' | 'held' | 'asking' | 'cleared';

/**
 * When the call started whose answer has come: before the hold of the row's last incident began, after it,
 * or nobody knows (`report()` without a start).
 */
export type Origin = 'before' | 'after' | 'unknown';

/** What a refusal says of the time to wait: nothing, "now" (0), or so long. */
export type Hint = 'none' | 'now' | 'later';

/** What can happen to a row. `refused`: an outcome of its kind; `other`: an outcome that is neither that nor a success. */
export type RowEvent = `refused ${Origin} ${Hint}` | `success ${Origin}` | 'other' | 'hold ends' | 'resume all';

/**
 * `open`: a new incident, one more in the row; otherwise the answer belongs to the last one. `hold`: for as
 * long as a new incident is held. `extend`: to what the server said, if that is later. `clear`: the row is
 * over. `release`: what is left of the hold is dropped.
 */
export type Effect = 'open' | 'hold' | 'extend' | 'clear' | 'release';

/** One line of the state table. */
export interface IncidentRule {
  readonly from: readonly RowState[];
  readonly on: readonly RowEvent[];
  readonly does: readonly Effect[];
  /** `same`: the state it came from. */
  readonly to: RowState | 'same';
}

export const ROW_STATES: readonly RowState[] = ['calm', 'held', 'asking', 'cleared'];
const ORIGINS: readonly Origin[] = ['before', 'after', 'unknown'];
const HINTS: readonly Hint[] = ['none', 'now', 'later'];

export const ROW_EVENTS: readonly RowEvent[] = [
  ...ORIGINS.flatMap((origin) => HINTS.map((hint): RowEvent => `refused ${origin} ${hint}`)),
  ...ORIGINS.map((origin): RowEvent => `success ${origin}`),
  'other',
  'hold ends',
  'resume all',
];

const SUCCESSES: readonly RowEvent[] = ['success before', 'success after', 'success unknown'];

/**
 * What a row of incidents does, whatever happens: exactly one line for every state and event, but that
 * no hold ends where none is in force. The one home of these rules: the lane executes them, the
 * documentation shows them.
 */
export const INCIDENT_RULES: readonly IncidentRule[] = [
  // A new incident. Where the row has none yet, "now" is taken literally.
  {
    from: ['calm'],
    on: ['refused after none', 'refused after later', 'refused unknown none', 'refused unknown later'],
    does: ['open', 'hold'],
    to: 'held',
  },
  { from: ['calm'], on: ['refused after now', 'refused unknown now'], does: ['open', 'hold'], to: 'asking' },
  {
    from: ['held', 'cleared'],
    on: ['refused after none', 'refused after now', 'refused after later'],
    does: ['open', 'hold'],
    to: 'held',
  },
  {
    from: ['asking'],
    on: [
      'refused after none',
      'refused after now',
      'refused after later',
      'refused unknown none',
      'refused unknown now',
      'refused unknown later',
    ],
    does: ['open', 'hold'],
    to: 'held',
  },
  // One more answer of the same incident.
  { from: ROW_STATES, on: ['refused before none', 'refused before now'], does: [], to: 'same' },
  { from: ['calm', 'cleared'], on: ['refused before later'], does: ['extend'], to: 'cleared' },
  { from: ['held', 'asking'], on: ['refused before later'], does: ['extend'], to: 'held' },
  { from: ['held', 'cleared'], on: ['refused unknown none', 'refused unknown now'], does: [], to: 'same' },
  { from: ['held', 'cleared'], on: ['refused unknown later'], does: ['extend'], to: 'same' },
  // Successes.
  { from: ['asking'], on: ['success after'], does: ['clear'], to: 'calm' },
  { from: ['held'], on: ['success after'], does: ['clear'], to: 'cleared' },
  { from: ['held', 'asking'], on: ['success before', 'success unknown'], does: [], to: 'same' },
  { from: ['calm', 'cleared'], on: SUCCESSES, does: [], to: 'same' },
  { from: ROW_STATES, on: ['other'], does: [], to: 'same' },
  // Holds.
  { from: ['held'], on: ['hold ends'], does: [], to: 'asking' },
  { from: ['cleared'], on: ['hold ends'], does: [], to: 'calm' },
  { from: ['held'], on: ['resume all'], does: ['release'], to: 'asking' },
  { from: ['cleared'], on: ['resume all'], does: ['release'], to: 'calm' },
  { from: ['calm', 'asking'], on: ['resume all'], does: [], to: 'same' },
];

const BY_KEY: ReadonlyMap<string, IncidentRule> = new Map(
  INCIDENT_RULES.flatMap((rule) => rule.from.flatMap((from) => rule.on.map((on) => [`${from} ${on}`, rule] as const))),
);

/** The line for a state and an event; undefined where no hold is in force that could end. */
export function ruleFor(from: RowState, on: RowEvent): IncidentRule | undefined {
  return BY_KEY.get(`${from} ${on}`);
}
