import { label, type MetricKey, type Part, select, type Where } from './names.ts';

export interface Query {
  readonly expr: string;
  readonly legend: string;
}

/** One panel. `id` never changes, so that links to it and the diff of a change stay small. */
export interface PanelSpec {
  readonly id: number;
  readonly kind: 'lines' | 'bars' | 'heatmap' | 'stat' | 'table' | 'timeline';
  readonly title: string;
  /** For somebody who was asleep a minute ago: what it shows, and what to think of it. */
  readonly description: string;
  /** As Grafana calls it. */
  readonly unit: string;
  /** Columns of 24. */
  readonly width: number;
  readonly queries: readonly Query[];
  /** One such panel for each downstream. */
  readonly isPerDownstream?: boolean;
  /** `stat`: from here on it is a warning, or an alarm. */
  readonly warnsFrom?: number;
  readonly alarmsFrom?: number;
}

export interface Row {
  readonly id: number;
  readonly title: string;
  readonly panels: readonly PanelSpec[];
}

export const DOWNSTREAM = label('downstream');
export const CODE = label('errorType');
export const PRIORITY = label('priority');
export const OUTCOME = label('outcome');
export const QUOTA = label('quota');
export const CAUSE = label('cause');

/** Narrowed to what is chosen at the top. */
export function chosen(key: MetricKey, where: Where = {}, part: Part = ''): string {
  const isLane = !['policy', 'alertsDropped'].includes(key);
  const more = `job=~"$service",instance=~"$instance"${isLane ? `,${DOWNSTREAM}=~"$downstream"` : ''}`;
  return select(key, where, part, more);
}

export const INTERVAL = '[$__rate_interval]';
export const RANGE = '[$__range]';
export const increase = (by: string, selector: string, range = INTERVAL): string =>
  `sum by (${by}) (increase(${selector}${range}))`;
export const rate = (by: string, selector: string): string => `sum by (${by}) (rate(${selector}${INTERVAL}))`;
export const quantile = (q: number, by: string, selector: string): string =>
  `histogram_quantile(${q}, ${rate(`${by}, le`, selector)})`;
/** A sum that is 0, not nothing, where there is nothing. */
export const total = (expr: string): string => `sum(${expr}) or vector(0)`;
export const one = (expr: string, legend = `{{${DOWNSTREAM}}}`): Query[] => [{ expr, legend }];
