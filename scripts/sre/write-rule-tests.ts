import { LANE_CASES } from './lane-cases.ts';
import type { Form } from './names.ts';
import { CALL_CASES, type RuleCase } from './rule-cases.ts';
import { type AlertRule, RULES } from './rules.ts';
import { runbookOf, yaml } from './write-rules.ts';

export const CASES: readonly RuleCase[] = [...CALL_CASES, ...LANE_CASES];

const HEAD = `# Unit tests of the alerts: promtool test rules penstock.rules.test.yml penstock.rules.days.test.yml
# Those that fire run twice, with the names of metrics as a process exposes them and as a collector writes them.
# Generated: npm run sre
`;

/** `config/prometheus/penstock.rules.test.yml`. */
export function ruleTestsFile(): string {
  return HEAD + ruleTests(CASES.filter(({ isLong }) => isLong !== true));
}

/** `config/prometheus/penstock.rules.days.test.yml`: promtool knows one evaluation interval per file. */
export function longRuleTestsFile(): string {
  return (
    HEAD +
    ruleTests(
      CASES.filter(({ isLong }) => isLong === true),
      '15m',
    )
  );
}

/** The cases as promtool reads them, beside the rules. */
export function ruleTests(cases: readonly RuleCase[], every = '1m', rules = 'penstock.rules.yml'): string {
  const tests = cases.flatMap((one) => {
    const forms: readonly Form[] = one.fires === undefined ? ['exporter'] : ['exporter', 'collector'];
    return forms.map((form) => promtoolTest(one, form));
  });
  return yaml({ rule_files: [rules], evaluation_interval: every, tests });
}

function promtoolTest({ alert, name, interval, series, at, fires }: RuleCase, form: Form): object {
  const rule = RULES.find(([known]) => known === alert)?.[1];
  if (rule === undefined) throw new Error(`there is no alert ${alert}`);
  return {
    name: `${alert} ${name} (${form})`,
    interval: interval ?? '1m',
    input_series: series.map((one) => one(form)),
    alert_rule_test: [
      { eval_time: at, alertname: alert, exp_alerts: fires === undefined ? [] : [expected(alert, rule, fires)] },
    ],
  };
}

function expected(alert: string, rule: AlertRule, { labels, summary, description }: NonNullable<RuleCase['fires']>) {
  const own = alert.startsWith('Downstream') ? { downstream: 'carrier' } : {};
  return {
    exp_labels: { severity: rule.severity, service: 'agents', job: 'agents', ...own, ...labels },
    exp_annotations: { summary, description, runbook_url: runbookOf(alert) },
  };
}
