import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { PolicyError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { READY_MADE } from '../feedback/classifiers.ts';
import { describePolicy } from '../policy/describe.ts';
import type { Environment } from '../policy/environment.ts';
import type { Policy } from '../policy/input.ts';
import { loadPolicy } from '../policy/load.ts';
import { policyJsonSchema } from '../policy/options.ts';
import { resolvePolicy } from '../policy/resolve.ts';
import type { Terminal } from './top-live.ts';
import { typesModule } from './types-module.ts';

/** What the command line tool reads and where it writes; each text ends in a newline. */
export interface Io {
  readonly env: Environment;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Where there is one: for `penstock top`. */
  readonly terminal?: Terminal | undefined;
}

const DEFAULT_FILE = 'config/downstreams.yaml';

const HELP = `penstock: one gate between an agent's tool calls and the services they hit

  penstock check [file]   says in plain sentences what a policy means, or what is wrong with it
  penstock types [file]   prints a TypeScript module with the names of its downstreams
  penstock top [url...]   shows what the downstreams of running processes do, live (top --help says more)
  penstock schema         prints the JSON Schema of policy files, for editors
  penstock help           prints this
  penstock --version      prints the version

The file is YAML, or JSON where its name ends in .json; without one, ${DEFAULT_FILE} is read.
Overrides such as PENSTOCK__CARRIER__MAX_WAIT=20s are taken from the environment.
Exit codes: 0 all is well, 1 the policy has problems, 2 the command was not understood.
`;

type Command = (args: readonly string[], io: Io) => Promise<number>;

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ['check', check],
  ['types', types],
  ['top', top],
  ['schema', schema],
  ['help', help],
]);

/**
 * Runs the tool with the arguments that follow its name. Resolves to the exit code: 0 all is well,
 * 1 the policy has problems, 2 the command was not understood. Only bugs reject.
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  // It has options of its own.
  if (argv[0] === 'top') return top(argv.slice(1), io);
  const parsed = parse(argv);
  if (typeof parsed === 'string') return misunderstood(parsed, io);
  if (parsed.version) return version(io);
  const [name, ...args] = parsed.positionals;
  if (parsed.help || name === undefined) return help([], io);
  const command = COMMANDS.get(name);
  if (command === undefined) {
    const near = nearest(name, COMMANDS.keys());
    return misunderstood(`no command "${name}"${near === undefined ? '' : `; did you mean ${near}?`}`, io);
  }
  try {
    return await command(args, io);
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
}

/** The arguments, or what is wrong with them. */
function parse(argv: readonly string[]): Parsed | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } },
    });
    return { positionals, help: values.help ?? false, version: values.version ?? false };
  } catch (error) {
    return error instanceof Error ? (error.message.split('. ')[0] ?? error.message) : String(error);
  }
}

function misunderstood(reason: string, io: Io): number {
  io.err(`penstock: ${reason}\nTry: penstock help\n`);
  return 2;
}

async function check(args: readonly string[], io: Io): Promise<number> {
  const file = onlyFile(args);
  if (file === undefined) return misunderstood('check takes one file', io);
  const plan = resolvePolicy(await loadPolicy(file, { env: io.env }));
  const lines = describePolicy(plan).flatMap(({ sentence, warnings }) => [
    sentence,
    ...warnings.map((warning) => `  warning: ${warning}`),
  ]);
  for (const { name, classify } of plan.downstreams.values()) {
    if (classify !== undefined && !Object.hasOwn(READY_MADE, classify)) lines.push(passedClassifier(name, classify));
  }
  const count = plan.downstreams.size === 1 ? '1 downstream' : `${plan.downstreams.size} downstreams`;
  io.out(`${[...lines, `${file}: ${count}, no problems (policy ${plan.hash})`].join('\n')}\n`);
  return 0;
}

/** What a policy asks for that only the program can give. */
function passedClassifier(downstream: string, classify: string): string {
  const near = nearest(classify, Object.keys(READY_MADE));
  const meant = near === undefined ? '' : ` (or is the ready-made ${near} meant?)`;
  return `  warning: ${downstream}: the program has to pass a classifier "${classify}" to createDispatcher${meant}`;
}

async function types(args: readonly string[], io: Io): Promise<number> {
  const file = onlyFile(args);
  if (file === undefined) return misunderstood('types takes one file', io);
  const policy: Policy = await loadPolicy(file, { env: io.env });
  io.out(typesModule(file, Object.keys(policy.downstreams)));
  return 0;
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
async function top(args: readonly string[], io: Io): Promise<number> {
  const view = await import('./top.ts');
  return view.top(args, io);
}

function onlyFile(args: readonly string[]): string | undefined {
  return args.length > 1 ? undefined : (args[0] ?? DEFAULT_FILE);
}
