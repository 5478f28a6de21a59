const LONGEST = 60;

/** A value for a message: short, quoted, never a dump; whatever it is, this does not throw. */
export function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > LONGEST ? `${value.slice(0, LONGEST)}...` : value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  return isList(value) ? 'a list' : 'an object';
}

/** What somebody else's code threw, as text; it may have thrown anything. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return 'something that cannot be shown';
  }
}

/** Whether a value is an `Error`; a hostile proxy is none. */
export function isError(value: unknown): boolean {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** Lets a callback of somebody else's do what it likes: throw, or return a promise that rejects. */
export function guarded(run: () => unknown, failed: (error: unknown) => void): void {
  try {
    const result = run();
    if (isThenable(result)) Promise.resolve(result).then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

/** Whether a value can be awaited for another. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

function isList(value: object): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}
