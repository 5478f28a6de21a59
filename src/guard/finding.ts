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

export interface ScanOptions {
  /** Also what cannot be told: options that are not written out. Default: false. */
  readonly isStrict?: boolean | undefined;
  /** More functions whose arguments pass the gate. */
  readonly gates?: readonly string[] | undefined;
  /** Whether Node's own `fetch` passes the gate, set up with `setGlobalDispatcher`. Default: false. */
  readonly isFetchGated?: boolean | undefined;
}
