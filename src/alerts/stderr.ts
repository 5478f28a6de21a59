import type { Alert } from '../base/alert.ts';
import { changeText } from './findings.ts';
import type { PacedSink } from './sink.ts';
import { subjectOf } from './subject.ts';

export interface StderrSinkOptions {
  /** Where the text goes; default: the process's stderr, else the console. */
  readonly write?: (text: string) => void;
  /** A block for people (true) or one line of JSON for machines (false); default: whether stderr is a terminal. */
  readonly isTerminal?: boolean;
}

interface Stderr {
  readonly isTTY?: boolean;
  readonly write?: (text: string) => unknown;
  readonly on?: (event: 'error', heard: () => void) => unknown;
}

/** What we use of a process, where there is one: the core runs in places without. */
interface StderrHost {
  readonly process?: {
    readonly stderr?: Stderr;
  };
}

const LINE_WIDTH = 96;

/**
 * Writes each incident to stderr: a readable block on a terminal, one line of JSON elsewhere.
 *
 * @example
 * createDispatcher(policy, { alertSinks: [stderrSink({ isTerminal: false })] })
 */
export function stderrSink(options: StderrSinkOptions = {}): PacedSink {
  return {
    name: 'stderr',
    spacingMs: 0,
    deliver: (alert) => {
      const { stderr } = (globalThis as StderrHost).process ?? {};
      const isTerminal = options.isTerminal ?? stderr?.isTTY === true;
      const text = isTerminal ? alertBlock(alert) : `${JSON.stringify(alert)}\n`;
      if (options.write !== undefined) options.write(text);
      else if (stderr?.write !== undefined) writeTo(stderr, text);
      else console.error(text.trimEnd());
    },
  };
}

/** Streams that have a listener of ours. It stays: the error of a write comes some turns after it. */
const heard = new WeakSet<Stderr>();

/** Whoever read stderr may be gone (EPIPE), and an error of a stream that nobody hears ends the process. */
function writeTo(stderr: Stderr, text: string): void {
  if (!heard.has(stderr)) {
    heard.add(stderr);
    stderr.on?.('error', () => undefined);
  }
  stderr.write?.(text);
}

/** An alert for a terminal: a headline, the explanation, a change of the policy, who to ask. */
export function alertBlock(alert: Alert): string {
  const word = alert.status === 'resolved' ? 'RESOLVED' : alert.severity.toUpperCase();
  const lines = [
    `penstock ${word} ${subjectOf(alert)}: ${alert.name} at ${alert.at.slice(0, 19).replace('T', ' ')} UTC`,
  ];
  for (const paragraph of alert.explanation.split('\n')) lines.push(...wrap(paragraph).map(indent));
  if (alert.suggestion !== undefined && alert.status === 'firing') {
    const change = changeText(alert.suggestion);
    if (!alert.explanation.includes(change)) lines.push(indent(`policy: ${change}`));
  }
  const facts = Object.entries({
    owner: alert.owner,
    source: alert.source,
    runbook: alert.runbook,
    tool: alert.tool,
    run: alert.runId,
    trace: alert.traceId,
    incident: alert.incident.id,
    instance: alert.origin.instance,
  }).filter(([, value]) => value !== undefined);
  lines.push(indent(facts.map(([name, value]) => `${name}: ${value}`).join(' | ')));
  return `${lines.map(printable).join('\n')}\n`;
}

function indent(line: string): string {
  return `  ${line}`;
}

/** Names come from policies and models: none of them may move the cursor, turn the text around or fake a line. */
function printable(line: string): string {
  return line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ');
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > LINE_WIDTH) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  lines.push(line);
  return lines;
}
