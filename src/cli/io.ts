import type { Environment } from '../policy/environment.ts';

/** What the command line tool reads and where it writes; each text ends in a newline. */
export interface Io {
  readonly env: Environment;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}
