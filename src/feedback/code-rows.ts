/** What a code means where it stands. */
export type CodeOutcome = 'throttled' | 'overloaded' | 'exhausted';

/** What must stand beside a code, or it is data: numbers and short words mean other things elsewhere. */
export type Beside =
  | 'fbtrace_id, or type OAuthException'
  | 'in a list of errors'
  | 'moreInfo or more_info'
  | 'metadata or details'
  | 'no word of a message size'
  | 'errorType or category of a rate limit'
  | 'data.rate'
  | 'clientVersion'
  | 'name Mongo...'
  | 'error_msg'
  | 'seconds'
  | '@type of FCM'
  | 'the type of a problem';

/** One code of one provider. Letters are compared without case, `_`, `-`, `.` and spaces. */
export interface ProviderCode {
  readonly code: string | number;
  /** Fields and headers in which it counts. */
  readonly at: readonly string[];
  readonly beside?: Beside;
  /** The code is a part of the field's text. */
  readonly within?: true;
  readonly outcome: CodeOutcome;
  readonly provider: string;
  /** Where it was read. */
  readonly source: string;
}

type Codes = readonly (string | number)[];

/** Codes of one provider that stand in the same fields. */
export interface Outcomes {
  readonly throttled?: Codes;
  readonly overloaded?: Codes;
  readonly exhausted?: Codes;
}

/** The rows of a group of codes; `how` is what must stand beside each of them, or `within`. */
export function codesOf(
  provider: string,
  source: string,
  at: readonly string[],
  { throttled = [], overloaded = [], exhausted = [] }: Outcomes,
  how: Beside | 'within' | undefined = undefined,
): ProviderCode[] {
  const more = how === 'within' ? { within: true as const } : how === undefined ? {} : { beside: how };
  const row = (outcome: CodeOutcome) => (code: string | number) => ({ code, at, ...more, outcome, provider, source });
  return [...throttled.map(row('throttled')), ...overloaded.map(row('overloaded')), ...exhausted.map(row('exhausted'))];
}
