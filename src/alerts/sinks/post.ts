import type { Clock } from '../../base/clock.ts';
import { DeliveryFailed } from '../sink.ts';
import type { Answer } from './host.ts';

/** What is kept of an answer: enough for a code or a sentence. */
const MOST_KEPT_BYTES = 400;
/** An answer up to this long is read to its end, so that the connection can be used again. */
const MOST_READ_BYTES = 16_384;
/** An answer whose status is known is not waited for any longer than this. */
const LONGEST_READ_MS = 1_000;
/** An alert that is later than this is news no more: a receiver that says longer is asked again then. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

export interface PostOptions {
  readonly url: string;
  readonly body: string;
  /** Besides `content-type`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** What must not show in an answer, were it to repeat our request. */
  readonly secrets?: readonly string[];
  readonly onAnswer?: ((answer: Answer) => void) | undefined;
  /** What an answer that is no success means, where its text is known to mean something. */
  readonly meaning?: (answer: string) => string | undefined;
  /** When to ask again after a 429 that does not say. */
  readonly pauseAfter429Ms?: number;
}

/**
 * One POST. Resolves when the receiver took it (2xx). Redirects are not followed: the body or a header would
 * go where nobody said it should.
 *
 * @throws {DeliveryFailed} for everything else; its message holds no address, header or body.
 */
export async function post(options: PostOptions): Promise<void> {
  const { url, body, headers, contentType = 'application/json', signal, clock, secrets = [] } = options;
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      body,
      headers: { 'content-type': contentType, 'user-agent': 'penstock', ...headers },
      redirect: 'manual',
      signal,
    });
  } catch (error) {
    const failure = notSent(error, signal);
    options.onAnswer?.({ status: undefined, line: failure.message });
    throw failure;
  }
  const text = await beginningOf(response, clock);
  options.onAnswer?.({ status: response.status, line: printable(text, [...secrets, ...partsOf(url)]) });
  if (!response.ok) throw refused(response, text, options);
}

/** What went wrong before there was an answer: its kind only, for messages of `fetch` quote addresses and headers. */
function notSent(error: unknown, signal: AbortSignal): DeliveryFailed {
  if (signal.aborted) return new DeliveryFailed('the receiver did not answer in time', { isRetryable: true });
  const code = codeOf(error);
  return new DeliveryFailed(`the receiver cannot be reached${code === undefined ? '' : ` (${code})`}`, {
    isRetryable: true,
  });
}

/** `ECONNREFUSED`; where both addresses of a name were tried, that of the first. */
function codeOf(error: unknown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < 4 && typeof current === 'object' && current !== null; depth += 1) {
    const { code, cause, errors } = current as { code?: unknown; cause?: unknown; errors?: unknown };
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code)) return code;
    current = Array.isArray(errors) ? errors[0] : cause;
  }
  return undefined;
}

function refused(response: Response, text: string, options: PostOptions): DeliveryFailed {
  const { status } = response;
  const known = options.meaning?.(text.trim());
  const isRedirect = status >= 300 && status < 400;
  const word = isRedirect ? '; redirects are not followed' : known === undefined ? '' : `: ${known}`;
  const retryAfterMs =
    status === 429 || status === 503
      ? (retryAfter(response.headers.get('retry-after'), options.clock.wallNow()) ??
        (status === 429 ? options.pauseAfter429Ms : undefined))
      : undefined;
  return new DeliveryFailed(`the receiver answered ${status}${word}`, {
    isRetryable: status >= 500 || status === 408 || status === 425 || status === 429,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    status,
  });
}

/** Milliseconds of a `Retry-After`: seconds, or a date. Undefined for anything else, and for a date that is past. */
export function retryAfter(value: string | null, wallMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1_000), LONGEST_RETRY_AFTER_MS);
  if (!/^[A-Z][a-z]{2,8},? /.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) || at <= wallMs ? undefined : Math.min(at - wallMs, LONGEST_RETRY_AFTER_MS);
}

/** The first bytes of an answer as text; the rest is read or cancelled, so that no connection is left half read. */
async function beginningOf(response: Response, clock: Clock): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const end = (): void => void reader.cancel().catch(() => undefined);
  const cancelTimer = clock.setTimer(LONGEST_READ_MS, end, { keepAlive: false });
  let text = '';
  let kept = 0;
  let read = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (kept < MOST_KEPT_BYTES) {
        const part = value.subarray(0, MOST_KEPT_BYTES - kept);
        text += decoder.decode(part, { stream: true });
        kept += part.length;
      }
      read += value.length;
      if (read > MOST_READ_BYTES) {
        end();
        break;
      }
    }
  } catch {
    // The status has come: what the rest would have said does not matter.
    end();
  } finally {
    cancelTimer();
  }
  return text;
}

/** An address, its path and the longer parts of it: "Cannot POST /services/T0/B0/..." is a usual answer. */
function partsOf(url: string): string[] {
  const { pathname, search, href } = new URL(url);
  const parts = `${pathname}${search}`.split(/[/?&=]/).filter((part) => part.length >= SHORTEST_PART);
  return [url, href, `${pathname}${search}`, pathname, ...parts, ...parts.map(decoded)];
}

const SHORTEST_PART = 6;

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const MOST_SHOWN = 120;

/** The first line with something in it, safe on a terminal and without what an answer may repeat of our request. */
function printable(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets) if (secret.length > 3) shown = shown.replaceAll(secret, '***');
  const lines = shown.replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '(an address)').split(/[\r\n]+/);
  const line = (lines.find((each) => each.trim() !== '') ?? '').replace(/[\p{Cc}\p{Cf}]/gu, ' ').trim();
  return line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN)}...` : line;
}
