/**
 * Writes what an SRE installs, from the table of metric names: rules for Prometheus with their tests, and the
 * dashboard for Grafana. `--write` updates the files; without it the exit code says whether they are in step.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { dashboardFile } from './dashboard.ts';
import { longRuleTestsFile, ruleTestsFile } from './write-rule-tests.ts';
import { rulesFile } from './write-rules.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Every generated file: its path from the root, and what it should hold. */
export const FILES: Readonly<Record<string, () => string>> = {
  'config/prometheus/penstock.rules.yml': rulesFile,
  'config/prometheus/penstock.rules.test.yml': ruleTestsFile,
  'config/prometheus/penstock.rules.days.test.yml': longRuleTestsFile,
  'config/grafana/penstock.json': dashboardFile,
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const writes = process.argv.includes('--write');
  for (const [name, make] of Object.entries(FILES)) {
    const path = join(ROOT, name);
    const text = make();
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
    if (writes) writeFileSync(path, text);
    else process.exitCode = 1;
    process.stdout.write(`${name}: ${writes ? 'written' : 'out of step (npm run sre)'}\n`);
  }
}
