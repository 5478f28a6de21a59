/** A place that passes no gate. */
export interface Finding {
  readonly line: number;
  /** Counts from 1. */
  readonly column: number;
  /** `request`: it sends there. `client`: it makes what sends. `handed-on`: what sends leaves to somewhere else. */
  readonly kind: 'request' | 'client' | 'handed-on';
  /** The thing as it is written, such as `axios.get(...)`. */
  readonly what: string;
  readonly problem: string;
  readonly fix: string;
}

/** What was found in one file. */
export interface FileReport {
  readonly findings: readonly Finding[];
  /** Findings that a comment exempts, with its reason. */
  readonly exempted: readonly (Finding & { readonly reason: string })[];
  /** Lines of exemptions that exempt nothing. */
  readonly unused: readonly number[];
  /** Why it could not be read, or where the parser stumbled; what was read is in `findings`. */
  readonly problem: string | undefined;
}

export interface ScanOptions {
  /** Also what cannot be told: options that are not written out. Default: false. */
  readonly isStrict?: boolean | undefined;
  /** More functions whose arguments pass the gate. */
  readonly gates?: readonly string[] | undefined;
  /** Whether Node's own `fetch` passes the gate, set up with `setGlobalDispatcher`. Default: false. */
  readonly isFetchGated?: boolean | undefined;
}
