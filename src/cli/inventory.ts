import type { ClaimedHost, InventorySnapshot, SeenHost, Snapshot } from '../base/snapshot.ts';
import { messageOf } from '../base/text.ts';
import { readToken } from '../status/secret.ts';
import { parsed } from './arguments.ts';
import type { Io } from './io.ts';
import { addressesOf, DEFAULT_ADDRESS, type readAddress } from './top-address.ts';
import { fetchSnapshots, Unreadable } from './top-fetch.ts';
import { shortDuration } from './top-numbers.ts';
import { clean, padded, widthOf } from './top-text.ts';

export const INVENTORY_HELP = `penstock inventory [url...]   lists the hosts that running processes send requests to, and whose they are

  url                    of a process that serves its status (serveStatus of penstock/status) and watches its
                         requests (watchUngated of penstock/guard); default ${DEFAULT_ADDRESS}.
                         9465, 9465-9480 (whoever is there) and worker-7:9465 are short for addresses.
  --token-from <where>   a variable, or file:<path>, that holds the token of those processes
  --json                 prints one JSON document

Exit codes: 0, or 1 where a process did not answer or watches nothing, 2 not understood.
`;

/** What one dispatcher of one process said. */
interface Told {
  readonly url: string;
  readonly name?: string;
  /** Epoch milliseconds of the process. */
  readonly at: number;
  /** Absent where nobody watches. */
  readonly inventory?: InventorySnapshot;
}

interface Problem {
  readonly url: string;
  readonly problem: string;
}

const NOBODY_WATCHES = 'nobody watches its requests: call watchUngated(dispatcher) of penstock/guard there';

/** Runs `penstock inventory` with the arguments after its name; resolves to the exit code. */
export async function inventory(args: readonly string[], io: Io): Promise<number> {
  let asked: Asked;
  try {
    asked = await readArguments(args, io);
  } catch (error) {
    const reason = messageOf(error).replace(/^tokenFrom/, '--token-from');
    io.err(`penstock inventory: ${reason}\nTry: penstock inventory --help\n`);
    return 2;
  }
  if (asked.isHelp) {
    io.out(INVENTORY_HELP);
    return 0;
  }
  const { told, problems } = await readAll(asked);
  const unwatched = told.filter((one) => one.inventory === undefined);
  const all = [...problems, ...unwatched.map(({ url, name }) => ({ url: titled(url, name), problem: NOBODY_WATCHES }))];
  io.out(asked.isJson ? `${JSON.stringify(documentOf(told, all), null, 2)}\n` : report(told, all));
  return all.length === 0 ? 0 : 1;
}

interface Asked {
  readonly addresses: ReturnType<typeof readAddress>;
  readonly token: string | undefined;
  readonly isJson: boolean;
  readonly isHelp: boolean;
}

async function readArguments(args: readonly string[], io: Io): Promise<Asked> {
  const { values, positionals } = parse(args);
  const { json = false, help = false } = values;
  const from = values['token-from'];
  const token = from === undefined || help ? undefined : await readToken(from, io.env);
  return { addresses: addressesOf(positionals), token, isJson: json, isHelp: help };
}

function parse(args: readonly string[]) {
  return parsed({
    args: [...args],
    allowPositionals: true,
    options: {
      'token-from': { type: 'string' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
}

async function readAll({ addresses, token }: Asked): Promise<{ told: Told[]; problems: Problem[] }> {
  const told: Told[] = [];
  const problems: Problem[] = [];
  const nobody: Problem[] = [];
  const read = addresses.map(async ({ url, isOptional }) => {
    const shown = url.replace(/\/snapshot$/, '');
    try {
      for (const snapshot of await fetchSnapshots(url, token)) told.push(toldBy(shown, snapshot));
    } catch (error) {
      const problem = { url: shown, problem: error instanceof Unreadable ? error.message : 'it cannot be read' };
      // Of a range whoever is there counts.
      if (isOptional && error instanceof Unreadable && error.isNobody) nobody.push(problem);
      else problems.push(problem);
    }
  });
  await Promise.all(read);
  if (told.length === 0 && problems.length === 0) problems.push(...nobody.slice(0, 1));
  const byUrl = (a: { readonly url: string }, b: { readonly url: string }): number => (a.url < b.url ? -1 : 1);
  return { told: told.sort(byUrl), problems: problems.sort(byUrl) };
}

function toldBy(url: string, { name, at, inventory: seen }: Snapshot): Told {
  const isSound = Array.isArray(seen?.claimed) && Array.isArray(seen.unclaimed);
  return {
    url,
    at,
    ...(name === undefined ? {} : { name }),
    ...(isSound && seen !== undefined ? { inventory: seen } : {}),
  };
}

/** What `--json` prints: every process for itself, its hosts as they are in the snapshot. */
function documentOf(told: readonly Told[], problems: readonly Problem[]): Record<string, unknown> {
  return { schema: 1, processes: told.filter((one) => one.inventory !== undefined), problems };
}

function report(told: readonly Told[], problems: readonly Problem[]): string {
  const lines: string[] = [];
  for (const { url, name, at, inventory: seen } of told) {
    if (seen === undefined) continue;
    if (lines.length > 0) lines.push('');
    lines.push(`penstock inventory  ${titled(url, name)}  since ${new Date(seen.since).toISOString().slice(0, 19)}Z`);
    lines.push('', ...claimedLines(seen.claimed, at), '', ...unclaimedLines(seen, at), ...hints(seen.claimed));
  }
  if (lines.length > 0 && problems.length > 0) lines.push('');
  for (const { url, problem } of problems) lines.push(`! ${url}: ${problem}`);
  return `${lines.join('\n')}\n`;
}

function titled(url: string, name: string | undefined): string {
  return name === undefined ? url : `${clean(name)} (${url})`;
}

function claimedLines(claimed: readonly ClaimedHost[], at: number): string[] {
  if (claimed.length === 0) return ['No request went to a host of a downstream.'];
  return table(
    ['HOST', 'DOWNSTREAM', 'REQUESTS', 'GATED', 'UNGATED', 'ALLOWED', 'RETRIES', 'UNKNOWN', 'LAST'],
    2,
    claimed.map(({ host, downstream, requests, gated, ungated, allowed, retries, unattributed, lastAt }) => [
      host,
      downstream,
      ...[requests, gated, ungated, allowed, retries, unattributed].map((count) => String(count ?? 0)),
      ago(at, lastAt),
    ]),
  );
}

function unclaimedLines({ unclaimed, others }: InventorySnapshot, at: number): string[] {
  if (unclaimed.length === 0) return ['No request went to a host that belongs to no downstream.'];
  const rows = unclaimed.map(({ host, requests, firstAt, lastAt }: SeenHost) => [
    host,
    String(requests),
    ago(at, firstAt),
    ago(at, lastAt),
  ]);
  const rest = others === 0 ? [] : [['other hosts', String(others), '', '']];
  return table(['HOST OF NO DOWNSTREAM', 'REQUESTS', 'FIRST', 'LAST'], 1, [...rows, ...rest]);
}

/** What to do about it. */
function hints(claimed: readonly ClaimedHost[]): string[] {
  const lines = claimed.flatMap(({ host, downstream, ungated, retries, retriesOff }) => {
    const name = `${clean(downstream)} (${clean(host)})`;
    const off = retriesOff === undefined ? "the client's own option" : clean(retriesOff);
    const how = `a call sent more requests than its permits are for: switch its client's retries off (${off}), or take permits for all of them`;
    return [
      ...(ungated > 0 ? [`! ${name}: ${ungated} passed no gate; penstock guard finds the places in the code`] : []),
      ...(retries > 0 ? [`! ${name}: ${how}`] : []),
    ];
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Columns as wide as their longest cell; the first `left` of them are text, the others numbers. */
function table(titles: readonly string[], left: number, rows: readonly (readonly string[])[]): string[] {
  const cells = [titles, ...rows.map((row) => row.map((cell) => clean(String(cell))))];
  const widths = titles.map((_, i) => Math.max(...cells.map((row) => widthOf(row[i] ?? ''))));
  return cells.map((row) =>
    row
      .map((cell, i) => padded(cell, widths[i] ?? 0, i >= left))
      .join('  ')
      .trimEnd(),
  );
}

function ago(at: number, then: number): string {
  return shortDuration(Math.max(0, at - then));
}
