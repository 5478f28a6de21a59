import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { FILES } from '../../scripts/sre/main.ts';
import { PUSHED } from '../../scripts/sre/pushed.ts';
import { GROUPS, RULES } from '../../scripts/sre/rules.ts';
import { CASES } from '../../scripts/sre/write-rule-tests.ts';
import { runbookOf } from '../../scripts/sre/write-rules.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');

test.each(Object.entries(FILES))('%s is what the table of metrics makes it (npm run sre rewrites it)', (name, make) => {
  expect(read(name)).toBe(make());
});

interface RulesFile {
  readonly groups: readonly {
    readonly rules: readonly { alert?: string; expr: string; labels?: object; annotations?: Record<string, string> }[];
  }[];
}
const alerts = (parse(read('config/prometheus/penstock.rules.yml')) as RulesFile).groups
  .flatMap(({ rules }) => rules)
  .filter(({ alert }) => alert !== undefined);

describe('rules', () => {
  test.each(alerts)('$alert says who, how bad, what, how much and where to read on', ({ alert, expr, ...rule }) => {
    expect(Object.keys(rule.labels ?? {})).toEqual(['severity', 'service']);
    expect(Object.keys(rule.annotations ?? {})).toEqual(['summary', 'description', 'runbook_url']);
    expect(rule.annotations?.description).toContain('{{ $value');
    expect(rule.annotations?.runbook_url).toBe(runbookOf(alert ?? ''));
    expect(expr).toMatch(alert?.startsWith('Downstream') ? /by \(job, downstream|penstock:/ : /by \(job/);
  });

  test.each(RULES)('%s is shown to fire, and not to fire', (name) => {
    const cases = CASES.filter(({ alert }) => alert === name);
    expect(new Set(cases.map(({ fires }) => fires !== undefined))).toEqual(new Set([true, false]));
  });

  test('names are used once, and no pushed alert has the name of a rule', () => {
    const names = [...RULES.map(([name]) => name), ...Object.keys(PUSHED)];
    expect(new Set(names).size).toBe(names.length);
    const records = GROUPS.flatMap(({ recordings }) => recordings.map(({ record }) => record));
    expect(new Set(records).size).toBe(records.length);
  });
});

describe('the example of Alertmanager', () => {
  const text = read('config/prometheus/alertmanager.example.yml');
  const known = new Set([...RULES.map(([name]) => name), ...Object.keys(PUSHED)]);

  test('names only alerts that there are', () => {
    const named = text.match(/\b(?:Downstream|Penstock|Quota|Lane|Sink)[A-Z]\w+/g) ?? [];
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test('lets an alert hide others of the same environment only', () => {
    const { inhibit_rules } = parse(text) as { inhibit_rules: readonly { equal: readonly string[] }[] };
    for (const { equal } of inhibit_rules) expect(equal).toEqual(expect.arrayContaining(['environment']));
  });
});

describe('docs/runbook.md', () => {
  const page = read('docs/runbook.md');
  const sections = new Map(
    page
      .split(/^### /m)
      .slice(1)
      .map((section) => [section.split('\n')[0] ?? '', section.split(/^## /m)[0] ?? '']),
  );

  test('has a section for every alert, in the order of its tables, and no other', () => {
    expect([...sections.keys()]).toEqual([...Object.keys(PUSHED), ...RULES.map(([name]) => name)]);
  });

  test.each([...sections])('%s says what it means, what to look at, what to change, and of the quota', (_, section) => {
    const leads = [...section.matchAll(/^\*\*([^*]+)\.\*\*/gm)].map(([, lead]) => lead);
    expect(leads).toEqual(['Means', 'Look at', 'Change', 'The quota']);
  });

  test('names only panels that the dashboard has', () => {
    const { panels } = JSON.parse(read('config/grafana/penstock.json')) as { panels: { title: string }[] };
    const titles = panels.map(({ title }) => title);
    const prose = page.replaceAll(/^\|.*\|$/gm, '').replaceAll(/^ *```[\s\S]*?^```/gm, '');
    const named = [...prose.matchAll(/(?<![\w_])_([A-Z0-9][^_\n]+)_(?!\w)/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(20);
    const known = (name: string) => titles.some((title) => title.startsWith(name)) || name.startsWith('Penstock: ');
    expect(named.filter((name) => !known(name))).toEqual([]);
  });
});
