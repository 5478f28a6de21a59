/** What a room of `src` may use. A room is a folder, or a file that stands directly in `src`. */
export interface Room {
  /** Other rooms it may import, types included. */
  readonly rooms: readonly string[];
  /** External packages it may import. */
  readonly packages?: readonly string[];
}

const LOWER: Readonly<Record<string, Room>> = {
  base: { rooms: [], packages: ['fastest-levenshtein'] },
  version: { rooms: [] },
  model: { rooms: ['base'] },
  store: { rooms: ['base', 'model'] },
  dispatch: { rooms: ['base', 'model'] },
  policy: { rooms: ['base'], packages: ['zod', 'yaml', 'chokidar', 'fastest-levenshtein'] },
  feedback: { rooms: ['base'], packages: ['structured-headers'] },
  explain: { rooms: ['base', 'feedback'] },
  telemetry: { rooms: ['base', 'version'], packages: ['@opentelemetry/api', '@opentelemetry/sdk-node'] },
  alerts: { rooms: ['base', 'version'], packages: ['bottleneck', '@opentelemetry/api'] },
  // Of the contract and of dispatch they use types alone; what they do not know at run time is handed to them.
  // Bottleneck is no peer: alerts are delivered with it, so that a policy can name it as a lane's engine.
  adapters: { rooms: ['base', 'contract', 'dispatch', 'explain'], packages: ['bottleneck'] },
  guard: { rooms: ['base'], packages: ['@babel/parser'] },
  simulate: { rooms: ['base'] },
  status: { rooms: ['base'] },
};

/** The composition root: the one place where the lower rooms meet. */
const ROOT_FILES = [
  'contract',
  'arguments',
  'origin',
  'judges',
  'engines',
  'modes',
  'registry',
  'cancel',
  'composition',
  'closing',
  'door',
  'dispatcher',
];
const MEET: Room = { rooms: [...Object.keys(LOWER), ...ROOT_FILES] };

/** Who may import whom. A room that has no row here is a violation. */
export const ROOMS: Readonly<Record<string, Room>> = {
  ...LOWER,
  ...Object.fromEntries(ROOT_FILES.map((name) => [name, MEET])),
  index: MEET,
  testing: MEET,
  cli: { rooms: [...MEET.rooms, 'index'], packages: ['log-update', 'string-width', 'yaml'] },
};

/** Where the graph of imports begins. */
export const ENTRIES = [
  'src/index.ts',
  'src/alerts.ts',
  'src/adapters/bottleneck.ts',
  'src/status.ts',
  'src/telemetry.ts',
  'src/testing.ts',
  'src/adapters/guard.ts',
  'src/adapters/mcp.ts',
  'src/adapters/mcp.ts',
  'src/adapters/guard.ts',
  'src/cli/main.ts',
  'src/adapters/fetch.ts',
  'src/adapters/undici.ts',
  'src/adapters/ai-sdk.ts',
  'src/adapters/openai-agents.ts',
  'src/adapters/langchain.ts',
];

/** Not part of the core, which runs wherever JavaScript does: these may import `node:` modules. */
export const MAY_IMPORT_NODE = ['src/adapters/', 'src/alerts/sinks/', 'src/cli/', 'src/status/'];

/**
 * May import `node:` modules inside a function only: the file is in the core's graph, what it
 * needs of Node is loaded when it is called.
 */
export const MAY_LOAD_NODE = ['src/policy/load', 'src/policy/signs', 'src/telemetry/peers', 'src/telemetry/prometheus'];

/** May touch `Date`, `performance` and timers. */
export const MAY_TOUCH_TIME = ['src/base/clock.ts', 'src/cli/', 'src/testing/macrotask.ts'];

/** More than one idea lives in a file or function above this. */
export const MOST_FILE_LINES = 300;
export const MOST_FUNCTION_LINES = 60;
