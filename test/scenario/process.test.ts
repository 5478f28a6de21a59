import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('./fixtures/process.ts', import.meta.url));

interface Report {
  readonly what: string;
  readonly ms: number;
}

/** Runs the script to its end; rejects unless it exits by itself with code 0. */
function run(mode: string): Promise<Report[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', 'tsx', SCRIPT, mode]);
    let out = '';
    let trouble = '';
    child.stdout.on('data', (text) => {
      out += text;
    });
    child.stderr.on('data', (text) => {
      trouble += text;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code !== 0 || trouble !== '') reject(new Error(`exit code ${code}: ${trouble}`));
      else
        resolve(
          out
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as Report),
        );
    });
  });
}

describe('A short script', () => {
  it.each(['succeeds', 'fails'])('B24: whose only call %s exits by itself at once', async (mode) => {
    const [settled, exit] = await run(mode);
    expect([settled?.what, exit?.what]).toEqual(['settled', 'exit']);
    expect(exit!.ms - settled!.ms).toBeLessThan(100);
  });

  it('B24: stays alive while a call waits, and runs it', async () => {
    const reports = await run('waits');
    expect(reports.map((report) => report.what)).toEqual(['ran', 'settled', 'exit']);
    expect(reports[0]!.ms).toBeGreaterThanOrEqual(1_998);
    expect(reports[2]!.ms - reports[1]!.ms).toBeLessThan(100);
  });
});
