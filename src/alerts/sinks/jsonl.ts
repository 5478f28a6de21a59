import type { Alert } from '../../base/alert.ts';
import type { JsonlSinkOptions } from '../../base/sink-options.ts';
import { DeliveryFailed, type PacedSink } from '../sink.ts';
import { common, type SinkHost } from './host.ts';
import { SinkOptions } from './secret.ts';

/** One line of JSON: the whole alert, schema 1. */
export function jsonlLine(alert: Alert): string {
  return `${JSON.stringify(alert)}\n`;
}

/**
 * Appends one line per incident to a file. The file is opened for each line, so that logrotate may move it at
 * any time, and each line is one write in append mode, so that several processes may share it.
 *
 * @throws {PolicyError} where the path is missing.
 */
export function jsonlSink(options: JsonlSinkOptions, host: SinkHost = {}): PacedSink {
  const checks = new SinkOptions('jsonl', host);
  const path: unknown = options?.path;
  if (typeof path !== 'string' || path.trim() === '') checks.complain('path', 'missing; expected the path of a file');
  checks.done();
  const file = options.path;
  // A full disk may have taken half a line: the next one must not be glued to it.
  let isTorn = false;
  // A file system that hangs holds one of Node's few threads for each write: none is begun while one is overdue.
  const underWay = new Set<AbortSignal>();
  return {
    ...common('jsonl', host),
    spacingMs: 0,
    deliver: async (alert, signal) => {
      const bytes = new TextEncoder().encode(`${isTorn ? '\n' : ''}${jsonlLine(alert)}`);
      if ([...underWay].some(({ aborted }) => aborted))
        throw new DeliveryFailed('an earlier write to the file has not ended', { isRetryable: true });
      let written = 0;
      underWay.add(signal);
      try {
        written = await append(file, bytes);
      } catch (error) {
        const { code } = error as { readonly code?: unknown };
        throw new DeliveryFailed(`the file cannot be written${typeof code === 'string' ? ` (${code})` : ''}`, {
          isRetryable: true,
        });
      } finally {
        underWay.delete(signal);
      }
      isTorn = written < bytes.length && (written > 0 || isTorn);
      if (written < bytes.length) throw new DeliveryFailed('the file took only half a line', { isRetryable: true });
    },
  };
}

/** The bytes that were written, in one write; makes the folder where it is missing. */
async function append(file: string, bytes: Uint8Array): Promise<number> {
  const { constants, mkdir, open } = await import('node:fs/promises');
  const { dirname } = await import('node:path');
  // A pipe that nobody reads is an error at once and not a thread that waits for a reader.
  const flags = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | (constants.O_NONBLOCK ?? 0);
  const opened = async () => {
    try {
      return await open(file, flags);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'ENOENT') throw error;
      await mkdir(dirname(file), { recursive: true });
      return open(file, flags);
    }
  };
  const handle = await opened();
  try {
    const { bytesWritten } = await handle.write(bytes);
    return bytesWritten;
  } finally {
    await handle.close();
  }
}
