import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf } from '../base/text.ts';
import { glob } from '../guard/globs.ts';
import type { FileReport, ScanOptions } from '../guard/report.ts';
import { NOTHING, scanText } from '../guard/scan.ts';
import { parsed } from './arguments.ts';
import { filesBelow, type GuardFile, slashed } from './guard-files.ts';
import { asJson, asText, type GuardReport } from './guard-text.ts';
import type { Io } from './io.ts';

export const GUARD_HELP = `penstock guard [paths]  finds calls that pass no gate: fetch, HTTP clients, SDKs

  paths                files and folders; default the current folder. In folders
                       these are passed over: node_modules, dist, .git, what
                       .gitignore names, .d.ts, and tests (*.test.*, *.spec.*,
                       test, tests, __tests__, __mocks__). What is named is read
  --allow <pattern>    files that may call directly, such as src/http.ts or
                       'src/gate/**'; repeatable
  --gate <name>        a function of yours whose arguments pass the gate;
                       repeatable
  --fetch-is-gated     setGlobalDispatcher gates Node's own fetch, what is
                       built on it, and undici's fetch, request and so on
  --include-tests      reads tests, too
  --strict             also finds clients whose options are not written where
                       they are made
  --json               prints one JSON document

A comment exempts its line, or the line below it; the reason has to be there:
  // penstock-allow: our own health check
Exit codes: 0 nothing found, 1 something found, 2 not understood, nothing to
read, or a file that could not be read to its end.
`;

interface Asked {
  readonly roots: readonly string[];
  readonly allow: readonly string[];
  readonly scan: ScanOptions;
  readonly hasTests: boolean;
  readonly isJson: boolean;
  readonly isHelp: boolean;
}

/** Runs `penstock guard` with the arguments after its name; resolves to the exit code. */
export async function guard(args: readonly string[], io: Io): Promise<number> {
  let report: GuardReport;
  try {
    const asked = read(args);
    if (asked.isHelp) {
      io.out(GUARD_HELP);
      return 0;
    }
    report = await look(asked);
    if (asked.isJson) io.out(`${JSON.stringify(asJson(report), null, 2)}\n`);
    else io.out(asText(report, io.terminal?.output.isTTY === true && (io.env.NO_COLOR ?? '') === ''));
  } catch (error) {
    io.err(`penstock guard: ${messageOf(error)}\nTry: penstock guard --help\n`);
    return 2;
  }
  if (report.files.some(({ findings }) => findings.length > 0)) return 1;
  return report.files.some(({ problem }) => problem !== undefined) ? 2 : 0;
}

function read(args: readonly string[]): Asked {
  const { values, positionals } = parse(args);
  const { allow = [], gate = [] } = values;
  if (allow.includes('')) throw new Error('--allow: expected a file, a folder or a pattern; found ""');
  return {
    roots: positionals.length > 0 ? positionals : ['.'],
    allow,
    scan: {
      isStrict: values.strict ?? false,
      gates: gate,
      isFetchGated: values['fetch-is-gated'] ?? false,
    },
    hasTests: values['include-tests'] ?? false,
    isJson: values.json ?? false,
    isHelp: values.help ?? false,
  };
}

function parse(args: readonly string[]) {
  return parsed({
    args: [...args],
    allowPositionals: true,
    options: {
      allow: { type: 'string', multiple: true },
      gate: { type: 'string', multiple: true },
      'fetch-is-gated': { type: 'boolean' },
      'include-tests': { type: 'boolean' },
      strict: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
}

async function look({ roots, allow, scan, hasTests }: Asked): Promise<GuardReport> {
  const { files, tests, unread } = await filesBelow(roots, hasTests);
  if (files.length === 0) {
    if (unread[0] !== undefined) throw new Error(unread[0].problem);
    const passed =
      tests > 0
        ? `; ${tests} of tests (--include-tests reads them)`
        : '; node_modules, dist and what .gitignore names are read where they are named themselves';
    throw new Error(`no file to read in ${roots.join(', ')}${passed}`);
  }
  const allowed = allow.map((pattern) => ({ pattern, isMeant: meant(pattern), isUsed: false }));
  const reports: (FileReport & { file: string })[] = [];
  let allowedFiles = 0;
  for (const file of files) {
    const by = allowed.filter(({ isMeant }) => isMeant(file));
    for (const one of by) one.isUsed = true;
    if (by.length > 0) allowedFiles += 1;
    else reports.push({ file: file.shown, ...(await scanned(file, scan)) });
  }
  const read = reports.length;
  for (const { shown, problem } of unread) reports.push({ ...NOTHING, file: shown, problem });
  const unusedAllow = allowed.filter(({ isUsed }) => !isUsed).map(({ pattern }) => pattern);
  return { files: reports, read, tests, allowed: allowedFiles, unusedAllow };
}

/** From the current folder, from a path that was named, or absolute. */
function meant(pattern: string): (file: GuardFile) => boolean {
  const isMeant = glob(pattern.startsWith('../') ? slashed(resolve(pattern)) : pattern);
  return ({ path, shown, below }) => isMeant(shown) || isMeant(below) || isMeant(slashed(resolve(path)));
}

async function scanned(file: GuardFile, options: ScanOptions): Promise<FileReport> {
  try {
    return scanText(file.path, await readFile(file.path, 'utf8'), options);
  } catch (error) {
    return { ...NOTHING, problem: messageOf(error) };
  }
}
