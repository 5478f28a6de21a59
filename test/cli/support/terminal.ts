import { PassThrough } from 'node:stream';
import type { Terminal } from '../../../src/cli/top-live.ts';

const ALTERNATE = '\u001B[?1049h';
const BACK = '\u001B[?1049l';

/** A terminal that is none: keys are typed into it, and what is written to it is kept. */
export class FakeTerminal {
  readonly input = Object.assign(new PassThrough(), {
    isTTY: true as const,
    isRaw: false,
    setRawMode(mode: boolean) {
      this.isRaw = mode;
      return this;
    },
  });
  readonly output: PassThrough & { isTTY: true; columns: number; rows: number; hasColors: () => boolean };
  written = '';

  constructor(columns = 80, rows = 24, hasColour = false) {
    const output = new PassThrough();
    output.on('data', (part: Buffer) => (this.written += part.toString('utf8')));
    this.output = Object.assign(output, { isTTY: true as const, columns, rows, hasColors: () => hasColour });
  }

  get terminal(): Terminal {
    return { input: this.input, output: this.output } as unknown as Terminal;
  }

  type(keys: string): void {
    this.input.write(keys);
  }

  resize(columns: number, rows: number): void {
    Object.assign(this.output, { columns, rows });
    this.output.emit('resize');
  }

  /** It is in the other buffer, raw and without a cursor, and has not come back. */
  get isTaken(): boolean {
    return this.written.lastIndexOf(ALTERNATE) > this.written.lastIndexOf(BACK) && this.input.isRaw;
  }

  /** The other buffer is left, the cursor is shown, the last thing that was written is that. */
  get isRestored(): boolean {
    return !this.input.isRaw && this.written.endsWith(`\u001B[?25h${BACK}`);
  }
}
