import { emitKeypressEvents } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';
import { createLogUpdate } from 'log-update';
import type { Fleet } from './top-fleet.ts';
import { type Key, pressed } from './top-keys.ts';
import { paint } from './top-paint.ts';
import type { Poller } from './top-poller.ts';
import { FIRST_VIEW, screen, type TimeOfDay, type View } from './top-view.ts';

/** What the view needs of a terminal; `process.stdin` and `process.stdout` are it. */
export interface Terminal {
  readonly input: Pick<ReadStream, 'isTTY' | 'setRawMode' | 'resume' | 'pause' | 'on' | 'off'>;
  readonly output: Pick<WriteStream, 'isTTY' | 'columns' | 'rows' | 'write' | 'on' | 'off' | 'hasColors'>;
}

export interface LiveOptions {
  readonly poller: Poller;
  readonly terminal: Terminal;
  readonly intervalMs: number;
  readonly hasColour: boolean;
  readonly time: TimeOfDay;
}

/** Another buffer, so that what stood on the screen is there again afterwards; then an empty screen, no cursor. */
const ENTER = '\u001B[?1049h\u001B[2J\u001B[H\u001B[?25l';
const EMPTY = '\u001B[2J\u001B[H';
/** Emptied first: after a resize tmux moves lines of the other buffer into the one that it restores. */
const LEAVE = `${EMPTY}\u001B[?25h\u001B[?1049l`;
/** Ages go on while nobody answers. */
const REDRAW_MS = 1_000;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** The live view: reads, draws and listens to keys until it is told to quit. */
export class Live {
  readonly #options: LiveOptions;
  #draw: (text: string) => void = () => undefined;
  #view: View = FIRST_VIEW;
  #frozen: Fleet | undefined;
  #isOn = false;
  #done: (code: number) => void = () => undefined;
  #timers: (ReturnType<typeof setTimeout> | undefined)[] = [];

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** Resolves to the exit code. However it ends, the terminal is as it was. */
  async run(): Promise<number> {
    const handlers = Object.entries(SIGNALS).map(([name, code]) => [name, () => this.#done(code)] as const);
    const leave = (): void => this.#leave();
    process.on('exit', leave).on('uncaughtExceptionMonitor', leave);
    for (const [name, handler] of handlers) process.on(name, handler);
    try {
      return await new Promise<number>((resolve, reject) => {
        this.#done = resolve;
        this.#enter();
        this.#timers[1] = setInterval(() => this.#redraw(), REDRAW_MS);
        this.#poll().catch(reject);
      });
    } finally {
      this.#done = () => undefined;
      for (const timer of this.#timers) clearTimeout(timer);
      this.#leave();
      process.off('exit', leave).off('uncaughtExceptionMonitor', leave);
      for (const [name, handler] of handlers) process.off(name, handler);
    }
  }

  async #poll(): Promise<void> {
    const from = performance.now();
    await this.#options.poller.poll();
    this.#redraw();
    const restMs = Math.max(0, this.#options.intervalMs - (performance.now() - from));
    this.#timers[0] = setTimeout(() => void this.#poll(), restMs);
  }

  #enter(): void {
    const { input, output } = this.#options.terminal;
    this.#isOn = true;
    emitKeypressEvents(input as ReadStream);
    input.setRawMode(true);
    input.on('keypress', this.#onKey);
    // A terminal that has gone has no more keys.
    input.on('end', this.#onEnd);
    input.resume();
    output.on('resize', this.#onResize);
    output.write(ENTER);
    this.#startOver();
    this.#redraw();
  }

  #leave(): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    const { input, output } = this.#options.terminal;
    input.off('keypress', this.#onKey);
    input.off('end', this.#onEnd);
    output.off('resize', this.#onResize);
    try {
      input.setRawMode(false);
      input.pause();
    } finally {
      output.write(LEAVE);
    }
  }

  /** The screen is empty: nothing of what was drawn before is there to build on. */
  #startOver(): void {
    // The cursor is ours: the library would hide that of stderr.
    this.#draw = createLogUpdate(this.#options.terminal.output as WriteStream, { showCursor: true });
  }

  #redraw(): void {
    if (!this.#isOn) return;
    const { terminal, poller, hasColour, time } = this.#options;
    const width = terminal.output.columns || 80;
    // The library ends what it draws with a line feed: the last line stays empty.
    const height = Math.max(1, (terminal.output.rows || 24) - 1);
    const fleet = this.#frozen ?? poller.fleet();
    this.#draw(paint(screen(fleet, this.#view, { width, height }, Date.now(), time), hasColour));
  }

  readonly #onResize = (): void => {
    this.#options.terminal.output.write(EMPTY);
    this.#startOver();
    this.#redraw();
  };

  readonly #onEnd = (): void => this.#done(0);

  readonly #onKey = (_text: string | undefined, key: Key): void => {
    const rows = (this.#frozen ?? this.#options.poller.fleet()).rows.length;
    const wish = pressed(key, this.#view, Math.max(0, rows - 1));
    if (wish === 'quit') this.#done(0);
    else if (wish === 'redraw') this.#onResize();
    else if (wish === 'suspend') this.#suspend();
    else if (wish !== undefined) {
      if (wish.isFrozen !== this.#view.isFrozen)
        this.#frozen = wish.isFrozen ? this.#options.poller.fleet() : undefined;
      this.#view = wish;
      this.#redraw();
    }
  };

  #suspend(): void {
    this.#leave();
    process.once('SIGCONT', () => this.#enter());
    process.kill(process.pid, 'SIGTSTP');
  }
}
