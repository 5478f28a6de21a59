import type { Clock } from '../../base/clock.ts';
import { isPassing } from '../failure.ts';
import { DeliveryFailed } from '../sink.ts';
import type { Answer } from './host.ts';
import { decoded, masked } from './mask.ts';

/**
 * An answer up to this long is read to its end, so that the connection can be used again; and so much is kept:
 * what repeats a long token has to be seen whole to be taken out.
 */
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
  const { target, own, login } = withoutLogin(url);
  let response: Response;
  try {
    response = await fetch(target, {
      method: 'POST',
      body,
      headers: { 'content-type': contentType, 'user-agent': 'penstock', ...login, ...headers },
      redirect: 'manual',
      signal,
    });
  } catch (error) {
    const failure = notSent(error, signal);
    options.onAnswer?.({ status: undefined, line: failure.message });
    throw failure;
  }
  const text = await beginningOf(response, clock);
  options.onAnswer?.({ status: response.status, line: printable(masked(text, [...secrets, ...own], url)) });
  if (!response.ok) throw refused(response, text, options);
}

/** `fetch` refuses an address with a user and a password in it, for ever: they go into the header that they mean. */
function withoutLogin(url: string): { target: string; own: readonly string[]; login: Record<string, string> } {
  const target = new URL(url);
  if (target.username === '' && target.password === '') return { target: url, own: [], login: {} };
  const [user, password] = [decoded(target.username), decoded(target.password)];
  const base64 = btoa(String.fromCharCode(...new TextEncoder().encode(`${user}:${password}`)));
  target.username = '';
  target.password = '';
  return { target: target.href, own: [base64, password], login: { authorization: `Basic ${base64}` } };
}

/** What went wrong before there was an answer: its kind only, for messages of `fetch` quote addresses and headers. */
function notSent(error: unknown, signal: AbortSignal): DeliveryFailed {
  if (signal.aborted) return new DeliveryFailed('the receiver did not answer in time', { isRetryable: true });
  // Ports of other protocols (6000, 10080), which no `fetch` connects to, whoever listens there.
  if ((error as { cause?: { message?: unknown } }).cause?.message === 'bad port')
    return new DeliveryFailed('the port of the address is one that fetch never connects to', { isRetryable: false });
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
    isRetryable: isPassing(status),
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
  let read = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (read < MOST_READ_BYTES) text += decoder.decode(value.subarray(0, MOST_READ_BYTES - read), { stream: true });
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

const MOST_SHOWN = 120;

/** The first line with something in it, safe on a terminal and without what an answer may repeat of our request. */
function printable(text: string): string {
  const lines = text.replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '(an address)').split(/[\r\n]+/);
  const line = (lines.find((each) => each.trim() !== '') ?? '').replace(/[\p{Cc}\p{Cf}]/gu, ' ').trim();
  return line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN)}...` : line;
}
