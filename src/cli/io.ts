import type { Environment } from '../policy/environment.ts';
import type { Terminal } from './top-live.ts';

/** What the command line tool reads and where it writes; each text ends in a newline. */
export interface Io {
  readonly env: Environment;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Where there is one: for `penstock top`. */
  readonly terminal?: Terminal | undefined;
}
