import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A program of Debian's, and the package that it comes with. */
export const PACKAGES = {
  prometheus: 'prometheus',
  promtool: 'prometheus',
  'prometheus-alertmanager': 'prometheus-alertmanager',
  amtool: 'prometheus-alertmanager',
} as const;
export type Program = keyof typeof PACKAGES;

/** Throws, with the package's name, where the program is not installed: a suite that skips itself proves nothing. */
export function need(program: Program): void {
  const path = (process.env.PATH ?? '').split(':');
  const isThere = path.some((folder) => {
    try {
      execFileSync('test', ['-x', join(folder, program)]);
      return true;
    } catch {
      return false;
    }
  });
  if (!isThere) throw new Error(`${program} is not installed: apt-get install ${PACKAGES[program]}`);
}

/** Runs a program to its end; throws with what it wrote where it fails. */
export function run(program: Program, args: readonly string[], cwd?: string): string {
  need(program);
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe', ...(cwd !== undefined && { cwd }) });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  }
}

/** A port on the loopback interface on which nobody listens now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** Tries again until it succeeds; throws its last error after `withinMs`. */
export async function until<T>(what: () => Promise<T> | T, withinMs = 20_000, everyMs = 50): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    try {
      return await what();
    } catch (error) {
      if (performance.now() >= end) throw error;
    }
    await sleep(everyMs);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What was started or made here and must be gone at the end, last first. */
const toStop: (() => Promise<void> | void)[] = [];
const children = new Set<ChildProcess>();
// A run that is cut short leaves nothing behind either.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Undoes everything; for `afterEach` or `afterAll`, so that it happens when a test has failed too. */
export async function stopAll(): Promise<void> {
  for (const stop of toStop.splice(0).reverse()) await stop();
}

export function onStop(stop: () => Promise<void> | void): void {
  toStop.push(stop);
}

/** A folder that is removed at the end. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-services-'));
  onStop(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Child {
  readonly process: ChildProcess;
  /** The last of what it wrote to both streams. */
  readonly said: () => string;
  /** SIGTERM, then SIGKILL; resolves when it is gone. */
  readonly stop: () => Promise<void>;
}

/** Starts a process that is stopped at the end, by its own id. */
export function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Child {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  const hear = (data: Buffer): void => {
    said = (said + data.toString()).slice(-20_000);
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  child.on('error', (error) => hear(Buffer.from(String(error))));
  children.add(child);
  const gone = new Promise<void>((resolve) => {
    child.once('close', () => {
      children.delete(child);
      resolve();
    });
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await gone;
    clearTimeout(timer);
  };
  onStop(stop);
  return { process: child, said: () => said, stop };
}

/** Starts one of Debian's servers on a free port of the loopback interface, and waits until it is ready. */
export async function startServer(program: Program, argsOf: (port: number) => readonly string[]): Promise<string> {
  need(program);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = start(program, argsOf(port));
  await until(async () => {
    if (child.process.exitCode !== null) throw new Error(`${program} has ended:\n${child.said()}`);
    const answer = await fetch(`${url}/-/ready`).catch(() => undefined);
    if (answer?.ok !== true) throw new Error(`${program} is not ready:\n${child.said()}`);
  });
  return url;
}
