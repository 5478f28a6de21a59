import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { PolicyError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { Policy } from '../policy/input.ts';
import { loadPolicy } from '../policy/load.ts';
import { policyJsonSchema } from '../policy/options.ts';
import { testAlerts } from './alerts.ts';
import { check } from './check.ts';
import type { Io } from './io.ts';
import { profiles } from './profiles.ts';
import { typesModule } from './types-module.ts';

export type { Io } from './io.ts';

const DEFAULT_FILE = 'config/downstreams.yaml';

const HELP = `penstock: one gate between an agent's tool calls and the services they hit

  penstock check [file] [--env name] [--json]
                          says in plain sentences what a policy means, or what is wrong with it; with
                          --env prod it is read with its overlay (downstreams.prod.yaml beside
                          downstreams.yaml), and every value is shown with its origin
  penstock types [file]   prints a TypeScript module with the names of its downstreams
  penstock alerts test [sink] [--file policy]
                          sends a marked test alert to every sink of a policy, or to one, and says
                          what each receiver answered
  penstock top [url...]   shows what the downstreams of running processes do, live (top --help says more)
  penstock profiles [name]
                          lists what is known of public APIs, or prints one profile with the source of
                          each figure
  penstock guard [paths]  finds calls in source files that pass no gate (guard --help says more)
  penstock inventory [url...]
                          lists the hosts that running processes send requests to, and whose they are
  penstock schema         prints the JSON Schema of policy files, for editors
  penstock help           prints this
  penstock --version      prints the version

The file is YAML, or JSON where its name ends in .json; without one, ${DEFAULT_FILE} is read.
Overrides such as PENSTOCK__CARRIER__MAX_WAIT=20s are taken from the environment.
Exit codes: 0 all is well, 1 the policy has problems, a sink failed or a call passes no gate, 2 the command was
not understood.
`;

type Command = (args: readonly string[], io: Io, given: Pick<Parsed, 'file'>) => Promise<number>;

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ['types', types],
  ['alerts', alerts],
  ['profiles', profiled],
  ['schema', schema],
  ['help', help],
]);

/** Commands that read what follows them themselves. */
const OWN_OPTIONS: ReadonlyMap<string, (args: readonly string[], io: Io) => Promise<number>> = new Map([
  ['check', checked],
  ['top', top],
  ['guard', guard],
  ['inventory', inventory],
]);

/**
 * Runs the tool with the arguments that follow its name. Resolves to the exit code: 0 all is well,
 * 1 the policy has problems or a sink failed, 2 the command was not understood. Only bugs reject.
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const [first = '', ...rest] = argv;
  const own = OWN_OPTIONS.get(first);
  if (own !== undefined) return orProblems(io, () => own(rest, io));
  const parsed = parse(argv);
  if (typeof parsed === 'string') return misunderstood(parsed, io);
  if (parsed.version) return version(io);
  const [name, ...args] = parsed.positionals;
  if (parsed.help || name === undefined) return help([], io);
  const command = COMMANDS.get(name);
  if (command === undefined) {
    const near = nearest(name, [...OWN_OPTIONS.keys(), ...COMMANDS.keys()]);
    return misunderstood(`no command "${name}"${near === undefined ? '' : `; did you mean ${near}?`}`, io);
  }
  if (parsed.file !== undefined && name !== 'alerts') return misunderstood(`${name} takes no --file`, io);
  return orProblems(io, () => command(args, io, parsed));
}

/** What a command comes to, or the problems of the policy that it read. */
async function orProblems(io: Io, command: () => Promise<number>): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    io.err(`${error.message}\n`);
    return 1;
  }
}

interface Parsed {
  readonly positionals: readonly string[];
  readonly help: boolean;
  readonly version: boolean;
  readonly file: string | undefined;
}

/** The arguments, or what is wrong with them. */
function parse(argv: readonly string[]): Parsed | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
        file: { type: 'string' },
      },
    });
    return { positionals, help: values.help ?? false, version: values.version ?? false, file: values.file };
  } catch (error) {
    return error instanceof Error ? (error.message.split('. ')[0] ?? error.message) : String(error);
  }
}

function misunderstood(reason: string, io: Io): number {
  io.err(`penstock: ${reason}\nTry: penstock help\n`);
  return 2;
}

async function checked(args: readonly string[], io: Io): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) return help([], io);
  const result = await check(args, io, DEFAULT_FILE);
  return typeof result === 'string' ? misunderstood(result, io) : result;
}

async function types(args: readonly string[], io: Io): Promise<number> {
  const file = onlyFile(args);
  if (file === undefined) return misunderstood('types takes one file', io);
  const policy: Policy = await loadPolicy(file, { env: io.env });
  io.out(typesModule(file, Object.keys(policy.downstreams)));
  return 0;
}

async function alerts(args: readonly string[], io: Io, { file = DEFAULT_FILE }: Pick<Parsed, 'file'>): Promise<number> {
  const [verb, sink, ...rest] = args;
  if (verb !== 'test' || rest.length > 0) {
    return misunderstood('alerts takes: test [sink] [--file policy]', io);
  }
  const result = await testAlerts(file, sink, io);
  if (typeof result === 'string') return misunderstood(result, io);
  return result ? 0 : 1;
}

async function schema(args: readonly string[], io: Io): Promise<number> {
  if (args.length > 0) return misunderstood('schema takes no file', io);
  io.out(`${JSON.stringify(policyJsonSchema(), null, 2)}\n`);
  return 0;
}

async function help(_args: readonly string[], io: Io): Promise<number> {
  io.out(HELP);
  return 0;
}

async function version(io: Io): Promise<number> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  io.out(`${(JSON.parse(text) as { version: string }).version}\n`);
  return 0;
}

/** Loaded when it is asked for: the other commands need nothing of what draws on a terminal. */
async function profiled(args: readonly string[], io: Io): Promise<number> {
  const result = await profiles(args, io);
  return typeof result === 'string' ? misunderstood(result, io) : result;
}

async function top(args: readonly string[], io: Io): Promise<number> {
  const view = await import('./top.ts');
  return view.top(args, io);
}

/** Loaded when it is asked for: a parser is much to read for the other commands. */
async function guard(args: readonly string[], io: Io): Promise<number> {
  const command = await import('./guard.ts');
  return command.guard(args, io);
}

async function inventory(args: readonly string[], io: Io): Promise<number> {
  const list = await import('./inventory.ts');
  return list.inventory(args, io);
}

function onlyFile(args: readonly string[]): string | undefined {
  return args.length > 1 ? undefined : (args[0] ?? DEFAULT_FILE);
}
