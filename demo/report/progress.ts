import cliProgress from 'cli-progress';

export interface Progress {
  readonly begin: (label: string, total: number) => void;
  readonly update: (done: number, note: string) => void;
  readonly end: () => void;
}

/** A bar where `stream` is a terminal; elsewhere a plain line at the beginning, every five seconds and at the end. */
export function createProgress(stream: NodeJS.WriteStream): Progress {
  const isTerminal = stream.isTTY === true;
  return isTerminal ? barOn(stream) : linesOn(stream);
}

function barOn(stream: NodeJS.WriteStream): Progress {
  let bar: cliProgress.SingleBar | undefined;
  return {
    begin(label, total) {
      bar = new cliProgress.SingleBar({
        stream,
        // The cursor stays visible: a process that is killed outright could not bring it back.
        hideCursor: false,
        clearOnComplete: true,
        barsize: 30,
        barCompleteChar: '█',
        barIncompleteChar: '░',
        format: `  ${label.padEnd(22)} {bar} {value}/{total} done, {note}`,
      });
      bar.start(total, 0, { note: '' });
    },
    update: (done, note) => bar?.update(done, { note }),
    end: () => bar?.stop(),
  };
}

function linesOn(stream: NodeJS.WriteStream): Progress {
  const everyMs = 5_000;
  let line = '';
  let label = '';
  let total = 0;
  let saidAt = 0;
  return {
    begin(name, of) {
      label = name;
      total = of;
      line = '';
      saidAt = performance.now();
      stream.write(`${label}: started, ${total} to do\n`);
    },
    update(done, note) {
      line = `${label}: ${done} of ${total} done, ${note}\n`;
      if (performance.now() - saidAt < everyMs) return;
      saidAt = performance.now();
      stream.write(line);
    },
    end: () => void stream.write(line),
  };
}
