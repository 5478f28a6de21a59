import { parseDuration } from '../base/duration.ts';
import { messageOf, show } from '../base/text.ts';
import { readToken } from '../status/secret.ts';
import { parsed } from './arguments.ts';
import { addressesOf, DEFAULT_ADDRESS } from './top-address.ts';
import type { Fleet } from './top-fleet.ts';
import { Live, type Terminal } from './top-live.ts';
import { paint } from './top-paint.ts';
import { Poller } from './top-poller.ts';
import { report } from './top-view.ts';

/** What `penstock top` reads and where it writes; without a terminal it prints once. */
export interface TopIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly terminal?: Terminal | undefined;
}

export const TOP_HELP = `penstock top [url...]   shows what every downstream of running processes does, live

  url                    of a process that serves its status (serveStatus of penstock/status); default
                         ${DEFAULT_ADDRESS}. Several are added up. 9465, 9465-9480 (whoever is there),
                         worker-7:9465 and http://127.0.0.1:9465/snapshot/<name> are short for, or parts of it.
  --token-from <where>   a variable, or file:<path>, that holds the token of those processes
  --interval <duration>  time between two looks; default 1s
  --once                 prints it once, in plain lines (also where the output is no terminal)
  --json                 prints one JSON document; with --interval one per line, for ever

Keys: ? shows them. Exit codes: 0, or 1 where a process did not answer (--once, --json), 2 not understood.
`;

const LEAST_INTERVAL_MS = 100;
const MOST_INTERVAL_MS = 3_600_000;
/** Lines for a file or a pipe are as long as they need be. */
const PIPE_WIDTH = 240;

interface Asked {
  readonly urls: readonly string[];
  readonly tokenFrom: string | undefined;
  readonly intervalMs: number | undefined;
  readonly isOnce: boolean;
  readonly isJson: boolean;
  readonly isHelp: boolean;
}

/** Runs `penstock top` with the arguments after its name; resolves to the exit code. */
export async function top(args: readonly string[], io: TopIo): Promise<number> {
  let asked: Asked;
  let poller: Poller;
  try {
    asked = readArguments(args);
    if (asked.isHelp) {
      io.out(TOP_HELP);
      return 0;
    }
    const token = asked.tokenFrom === undefined ? undefined : await readToken(asked.tokenFrom, io.env);
    poller = new Poller(addressesOf(asked.urls), token);
  } catch (error) {
    io.err(`penstock top: ${messageOf(error).replace(/^tokenFrom/, '--token-from')}\nTry: penstock top --help\n`);
    return 2;
  }
  if (asked.isJson) return json(poller, asked.intervalMs, io);
  const { terminal } = io;
  if (asked.isOnce || terminal?.output.isTTY !== true || !terminal.input.isTTY) return once(poller, io);
  const intervalMs = asked.intervalMs ?? 1_000;
  return new Live({ poller, terminal, intervalMs, hasColour: hasColour(io), time: timeOfDay }).run();
}

function readArguments(args: readonly string[]): Asked {
  const { values, positionals } = parse(args);
  const { interval, once = false, json = false, help = false } = values;
  const intervalMs =
    interval === undefined ? undefined : parseDuration(/^\d+$/.test(interval) ? `${interval}s` : interval);
  if (interval !== undefined) {
    const isFit = intervalMs !== undefined && intervalMs >= LEAST_INTERVAL_MS && intervalMs <= MOST_INTERVAL_MS;
    if (!isFit) throw new Error(`--interval: expected 100ms to 1h, such as 1s; found ${show(interval)}`);
    if (once) throw new Error('--once or --interval, not both');
  }
  if (once && json) throw new Error('--once or --json, not both; --json prints once by itself');
  return { urls: positionals, tokenFrom: values['token-from'], intervalMs, isOnce: once, isJson: json, isHelp: help };
}

function parse(args: readonly string[]) {
  return parsed({
    args: [...args],
    allowPositionals: true,
    options: {
      'token-from': { type: 'string' },
      interval: { type: 'string' },
      once: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
}

async function once(poller: Poller, io: TopIo): Promise<number> {
  await poller.poll();
  const { columns, isTTY } = io.terminal?.output ?? {};
  const width = (isTTY === true && columns) || PIPE_WIDTH;
  const lines = report(poller.fleet(), width, Date.now(), timeOfDay);
  io.out(`${paint(lines, false).replace(/ +$/gm, '')}\n`);
  return poller.isWell ? 0 : 1;
}

async function json(poller: Poller, intervalMs: number | undefined, io: TopIo): Promise<number> {
  await poller.poll();
  if (intervalMs === undefined) {
    io.out(`${JSON.stringify(document(poller.fleet()), null, 2)}\n`);
    return poller.isWell ? 0 : 1;
  }
  for (;;) {
    io.out(`${JSON.stringify(document(poller.fleet()))}\n`);
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
    await poller.poll();
  }
}

/** What `--json` prints: the downstreams as the table has them, and who answered. */
function document({ names, policies, answers, alerts, rows, closed }: Fleet): Record<string, unknown> {
  return {
    schema: 1,
    at: Date.now(),
    names,
    policies: policies.map(([hash, processes]) => ({ hash, processes })),
    processes: answers.map(({ url, snapshots, ageMs, problem }) => ({
      url,
      ...(snapshots.length === 0 ? {} : { ageMs: Math.round(ageMs) }),
      ...(problem === undefined ? {} : { problem: problem.text }),
    })),
    alerts,
    closed,
    downstreams: rows,
  };
}

/** Asks the stream, which knows the terminal, NO_COLOR and FORCE_COLOR. */
function hasColour({ terminal, env }: TopIo): boolean {
  if ((env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb') return false;
  return terminal?.output.hasColors?.(16, env) ?? false;
}

function timeOfDay(epochMs: number): string {
  return new Date(epochMs).toTimeString().slice(0, 8);
}
