/** What one process measured. */
export interface Sample {
  /** In the row's unit. */
  readonly value: number;
  /** Further figures of the same run, units in their names. */
  readonly more?: Readonly<Record<string, number>>;
}

/** One way of doing the row's work; every measurement is a process of its own. */
export interface Variant {
  readonly name: string;
  /** `floor`: the work itself. `beside`: shown for comparison, no target depends on it. */
  readonly role: 'floor' | 'ours' | 'peer' | 'beside';
  /** How it is configured, or why it stands beside. */
  readonly note: string;
  /** Throws where the work was not done. */
  readonly run: (isQuick: boolean) => Promise<Sample>;
}

/** Medians over the rounds, by variant; nothing where no round succeeded. */
export type Medians = ReadonlyMap<string, Sample>;

/** One target of a row, and how far it is met. */
export interface Finding {
  readonly what: string;
  readonly ours: number;
  readonly limit: number;
  readonly unit: string;
  /** Whose figure the limit is, or comes from. */
  readonly against?: string;
  readonly isMet: boolean;
}

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly target: string;
  readonly rounds: number;
  readonly variants: readonly Variant[];
  /** Empty where our own variant or what it is compared with was not measured. */
  readonly judge: (medians: Medians) => Finding[];
  /** Left out by `--quick`: other rows of its kind suffice to see that the code runs. */
  readonly isLong?: boolean;
}

/** A target that a figure must not exceed. */
export function atMost(what: string, ours: number, limit: number, unit: string, against?: string): Finding {
  return { what, ours, limit, unit, isMet: ours <= limit, ...(against === undefined ? {} : { against }) };
}

/** A target that a figure must reach. */
export function atLeast(what: string, ours: number, limit: number, unit: string): Finding {
  return { what, ours, limit, unit, isMet: ours >= limit };
}

/** The lowest of the peers that count for a target. */
export function best(row: Pick<Row, 'variants'>, medians: Medians, figure = (sample: Sample) => sample.value) {
  const peers = row.variants.filter(({ role, name }) => role === 'peer' && medians.has(name));
  const ranked = peers
    .map(({ name }) => ({ name, value: figure(medians.get(name) as Sample) }))
    .sort((a, b) => a.value - b.value);
  return ranked[0];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  const high = sorted[Math.floor(middle)] ?? Number.NaN;
  return (low + high) / 2;
}

/** Nearest rank; `share` in (0, 1]. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}
