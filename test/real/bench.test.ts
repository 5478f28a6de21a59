import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Report } from '../../benchmarks/lib/report.ts';
import { ROWS } from '../../benchmarks/rows/index.ts';
import { mostInWindow } from '../../benchmarks/rows/pressed.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);

test('npm run bench -- --quick measures every variant and judges every target', async () => {
  const out = mkdtempSync(join(tmpdir(), 'penstock-bench-'));
  try {
    const tsx = join(ROOT, 'node_modules', '.bin', 'tsx');
    await run(tsx, ['benchmarks/run.ts', '--quick', '--out', out], { cwd: ROOT });
    const files = readdirSync(out).sort();
    expect(files).toEqual([expect.stringMatching(/\.json$/), expect.stringMatching(/\.md$/)]);
    const report = JSON.parse(readFileSync(join(out, files[0] ?? ''), 'utf8')) as Report;
    expect(report.rows.map(({ id }) => id)).toEqual(ROWS.filter(({ isLong }) => !isLong).map(({ id }) => id));
    for (const row of report.rows) {
      expect(row.findings.length, row.id).toBeGreaterThan(0);
      for (const { name, raw, failures } of row.measured) {
        expect({ row: row.id, name, failures, rounds: raw.length }).toEqual({
          row: row.id,
          name,
          failures: [],
          rounds: 1,
        });
      }
    }
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
});

test.each([
  [[], 0],
  [[0], 1],
  [[0, 999, 1000], 2],
  [[0, 500, 999, 1499], 3],
])('the fullest second of starts at %j has %i', (instants, most) => {
  expect(mostInWindow(instants, 1000)).toBe(most);
});
