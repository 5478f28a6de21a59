import { stringify } from 'yaml';
import { GROUPS, type RuleGroup } from './rules.ts';

/** Where alerts lead to, relative to the package; whoever keeps the page elsewhere replaces this in one go. */
export const RUNBOOK = 'docs/runbook.md';

/** The anchor of an alert's section, as it is made of its heading. */
export function runbookOf(alert: string): string {
  return `${RUNBOOK}#${alert.toLowerCase()}`;
}

const HEAD = `# Alerts and recordings for Prometheus. Generated from the table of metric names: npm run sre
# Metrics are matched by every name they may be stored under, scraped from the process or through a collector.
# Links lead to ${RUNBOOK} of the package; for a copy of your own:
#   sed -i 's|${RUNBOOK}|https://wiki.example/penstock|' penstock.rules.yml
`;

/** `config/prometheus/penstock.rules.yml`. */
export function rulesFile(): string {
  return `${HEAD}${yaml({ groups: GROUPS.map(group) })}`;
}

/** Long lines stay whole, expressions stand as they were written. */
export function yaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, blockQuote: 'literal', aliasDuplicateObjects: false });
}

function group({ name, recordings, alerts }: RuleGroup): object {
  const rules = Object.entries(alerts).map(([alert, rule]) => ({
    alert,
    expr: rule.expr,
    ...(rule.for !== undefined && { for: rule.for }),
    labels: { severity: rule.severity, service: '{{ reReplaceAll "^.*/" "" $labels.job }}' },
    annotations: { summary: rule.summary, description: rule.description, runbook_url: runbookOf(alert) },
  }));
  return { name, rules: [...recordings, ...rules] };
}
