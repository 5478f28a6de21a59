import { ATTRIBUTE, METRICS, type MetricSpec } from '../../src/telemetry/names.ts';

export type MetricKey = keyof typeof METRICS;
export type AttributeKey = keyof typeof ATTRIBUTE;

/**
 * Who named what Prometheus stores. `exporter`: the Prometheus exporter of OpenTelemetry JS, which appends no unit.
 * `collector`: a collector's exporters, or Prometheus' own OTLP receiver, which do. `plain`: either of these with
 * suffixes switched off, which leaves counters without `_total`.
 */
export const FORMS = ['exporter', 'collector', 'plain'] as const;
export type Form = (typeof FORMS)[number];

/** Series of a histogram. */
export type Part = '_bucket' | '_count' | '_sum' | '';

/** What a collector appends for a unit; what stands in braces is a word for people and is dropped. */
const UNIT_SUFFIX: Readonly<Record<string, string>> = {
  ms: '_milliseconds',
  '1': '_ratio',
  '{permit}/s': '_per_second',
  '{call}': '',
  '{permit}': '',
  '{alert}': '',
  '{request}': '',
};

/** The name under which Prometheus stores a metric. Throws on a unit whose suffix nobody has looked up. */
export function storedName(key: MetricKey, form: Form, part: Part = ''): string {
  const { name, kind, unit }: MetricSpec = METRICS[key];
  const suffix = UNIT_SUFFIX[unit];
  if (suffix === undefined) throw new Error(`${name}: what does a collector append for the unit ${unit}?`);
  const base = name.replaceAll(/[^A-Za-z0-9_]/g, '_');
  if (form === 'plain') return `${base}${part}`;
  const withUnit = form === 'collector' ? `${base}${suffix}` : base;
  return `${withUnit}${kind === 'counter' ? '_total' : part}`;
}

/** The label that an attribute becomes. */
export function label(key: AttributeKey): string {
  return ATTRIBUTE[key].replaceAll(/[^A-Za-z0-9_]/g, '_');
}

/** An operator and a quoted value per attribute: `{ outcome: '="refused"' }`. */
export type Where = Readonly<Partial<Record<AttributeKey, string>>>;

/** A selector of the metric under every name that it may be stored by; `more` is put beside the matchers as it is. */
export function select(key: MetricKey, where: Where = {}, part: Part = '', more = ''): string {
  const names = [...new Set(FORMS.map((form) => storedName(key, form, part)))];
  const matchers = Object.entries(where).map(([name, matcher]) => {
    if (!METRICS[key].attributes.some((attribute) => attribute === ATTRIBUTE[name as AttributeKey])) {
      throw new Error(`${METRICS[key].name} has no attribute ${name}`);
    }
    return `${label(name as AttributeKey)}${matcher}`;
  });
  if (more !== '') matchers.push(more);
  if (names.length > 1) return `{${[`__name__=~"${names.join('|')}"`, ...matchers].join(',')}}`;
  return `${names[0]}${matchers.length > 0 ? `{${matchers.join(',')}}` : ''}`;
}
