import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { FIRST_429, of } from '../../scripts/sre/rule-cases.ts';
import { ruleTests } from '../../scripts/sre/write-rule-tests.ts';
import { CONFIG } from './support/alertmanager.ts';
import { answer429, startProcess } from './support/fleet.ts';
import { run, stopAll, tempFolder } from './support/server.ts';

afterEach(stopAll);

describe('what is checked in', () => {
  test('promtool finds nothing wrong with the rules', () => {
    expect(run('promtool', ['check', 'rules', 'penstock.rules.yml'], CONFIG)).toContain('SUCCESS');
  });

  test('promtool: every alert fires when it should, and not when it should not', () => {
    const files = ['penstock.rules.test.yml', 'penstock.rules.days.test.yml'];
    expect(run('promtool', ['test', 'rules', ...files], CONFIG)).not.toContain('FAILED');
  });

  test('promtool finds nothing wrong with the example configuration', () => {
    expect(run('promtool', ['check', 'config', 'prometheus.example.yml'], CONFIG)).toContain('SUCCESS');
  });

  test('amtool finds nothing wrong with the example configuration', () => {
    expect(run('amtool', ['check-config', 'alertmanager.example.yml'], CONFIG)).toContain('SUCCESS');
  });
});

/** Runs tests beside the rules; throws with what promtool says. */
function promtoolTest(text: string): string {
  const folder = tempFolder();
  cpSync(join(CONFIG, 'penstock.rules.yml'), join(folder, 'penstock.rules.yml'));
  writeFileSync(join(folder, 'tests.yml'), text);
  return run('promtool', ['test', 'rules', 'tests.yml'], folder);
}

describe('the first 429', () => {
  test('fires with the values that a process exposes: its counter is told at 0 before', async () => {
    const { dispatcher, port } = await startProcess({ policy: { downstreams: { carrier: { quota: '60/minute' } } } });
    const values: string[] = [];
    for (let scrape = 0; scrape < 3; scrape += 1) values.push(await throttles(port));
    await answer429(dispatcher, 'carrier');
    values.push(await throttles(port));
    expect(values.at(-1)).toBe('1');
    promtoolTest(ruleTests([{ ...FIRST_429, series: [of('throttled', values.join(' '))] }]));
  });

  test('would not fire if the counter began with it', () => {
    const bare = ruleTests([{ ...FIRST_429, series: [of('throttled', '_ _ _ 1')] }]);
    expect(() => promtoolTest(bare)).toThrow(/FAILED/);
  });
});

/** The counter of `carrier` as it is scraped now, `_` where there is none. */
async function throttles(port: number): Promise<string> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return /^downstream_throttled_total\{downstream="carrier"[^}]*\} (\d+)$/m.exec(text)?.[1] ?? '_';
}

test('a program that is not installed fails the suite, with the name of its package', () => {
  const path = process.env.PATH;
  process.env.PATH = '';
  try {
    expect(() => run('promtool', ['--version'])).toThrow('promtool is not installed: apt-get install prometheus');
  } finally {
    process.env.PATH = path;
  }
});

test('no rule names what only newer versions of Prometheus know', () => {
  // Names with dots are for 3.0 and later; Debian 12 has 2.42.
  expect(readFileSync(join(CONFIG, 'penstock.rules.yml'), 'utf8')).not.toMatch(/\{"[^"]+"/);
});
