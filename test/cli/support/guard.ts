import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { run } from '../../../src/cli/run.ts';

/** A folder for each test of a file, and the command in it. */
export class GuardFolder {
  path = '';

  constructor() {
    beforeEach(() => {
      this.path = mkdtempSync(join(tmpdir(), 'penstock-guard-'));
    });
    afterEach(() => rmSync(this.path, { recursive: true }));
  }

  readonly write = (files: Record<string, string>): void => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), text);
    }
  };

  /** The same text in files of these names. */
  readonly writeAll = (names: readonly string[], text = 'fetch(1);'): void =>
    this.write(Object.fromEntries(names.map((name) => [name, text])));

  /** What the command prints; paths are told from the folder. */
  readonly guard = async (...args: string[]) => {
    let out = '';
    let err = '';
    const io = { env: {}, out: (text: string) => (out += text), err: (text: string) => (err += text) };
    const code = await run(['guard', ...args], io);
    const short = (text: string) => text.replaceAll(`${this.path}/`, '').replaceAll(this.path, '.');
    return { code, out: short(out), err: short(err) };
  };

  /** What is found in the folder, as `file:line`. */
  readonly found = async (...args: string[]) => {
    const { out } = await this.guard(this.path, '--json', ...args);
    const { findings } = JSON.parse(out) as { findings: { file: string; line: number }[] };
    return findings.map(({ file, line }) => `${file}:${line}`);
  };
}
