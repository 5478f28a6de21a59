import { quotaText, WINDOW_WORDS } from '../base/quota-text.ts';
import { REQUESTS } from '../base/words.ts';
import type { QuotaInput } from './input.ts';

/** A quota as it was declared, read but not yet shared out. */
export interface DeclaredQuota {
  readonly text: string;
  readonly unit: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly burst?: number;
  readonly providerBurst?: number;
}

/** Unit names start with a letter; `request` is read as `requests`. */
export const UNIT_PATTERN = /^[A-Za-z][A-Za-z0-9_.-]*$/;
export const WINDOW_PATTERN =
  /^(seconds?|minutes?|hours?|days?|(?=\d*[1-9])\d+(\.\d+)?(ms|s|m|h|d)|[1-9]\d* (seconds?|minutes?|hours?|days?))$/;
export const QUOTA_PATTERN =
  /^[1-9]\d*( [A-Za-z][A-Za-z0-9_.-]*)? ?\/ ?(s|m|h|d|seconds?|minutes?|hours?|days?|(?=[\d.]*[1-9])\d+(\.\d+)? ?(ms|s|m|h|d|seconds?|minutes?|hours?|days?))$/;

const PARTS = /^(\d+)(?: ([A-Za-z][A-Za-z0-9_.-]*))? ?\/ ?(.+)$/;
/** Milliseconds of `minute`, `3s`, `2 hours`, `m`; undefined for anything else. */
export function parseWindow(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)? ?([a-z]+)$/.exec(text.trim());
  if (match === null) return undefined;
  const unit = match[2] ?? '';
  const times = Number(match[1] ?? 1);
  if (unit === 'ms') return times;
  const found = WINDOW_WORDS.find(([word, short]) => unit === word || unit === `${word}s` || unit === short);
  return found === undefined ? undefined : times * found[2];
}

/** Reads a quota that the schema has already accepted; undefined for a text that is none. */
export function readQuota(input: QuotaInput): DeclaredQuota | undefined {
  if (typeof input !== 'string') {
    const windowMs = typeof input.per === 'string' ? (parseWindow(input.per) ?? Number.NaN) : input.per;
    return {
      ...declared(input.limit, input.unit, windowMs),
      ...(input.burst === undefined ? {} : { burst: input.burst }),
      ...(input.providerBurst === undefined ? {} : { providerBurst: input.providerBurst }),
    };
  }
  const match = PARTS.exec(input.trim());
  const windowMs = match === null ? undefined : parseWindow(match[3] ?? '');
  if (match === null || windowMs === undefined) return undefined;
  return declared(Number(match[1]), match[2], windowMs);
}

function declared(limit: number, unit: string | undefined, windowMs: number): DeclaredQuota {
  const named = unit === undefined || unit === 'request' ? REQUESTS : unit;
  return { text: quotaText(limit, named, windowMs), unit: named, limit, windowMs };
}

/** `60s`, `5m`, `250ms`: as a policy would write it. */
export function durationText(ms: number): string {
  const unit = WINDOW_WORDS.find(([, , unitMs]) => ms > unitMs && ms % unitMs === 0);
  return unit === undefined ? `${ms}ms` : `${ms / unit[2]}${unit[1]}`;
}

const WORDS_MS: Readonly<Record<string, string>> = {
  sec: 'second',
  secs: 'second',
  min: 'minute',
  mins: 'minute',
  hr: 'hour',
  hrs: 'hour',
};

/** What somebody who wrote `60 per minute`, `60/min` or `200,000 tokens/minute` probably means. */
export function suggestQuota(text: string): string | undefined {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/[_,](?=\d)/g, '');
  const match = /^(\d+)\s*([a-z][\w.-]*?)?\s*(?:\/|\bper\b|\ban?\b|\bin\b|\bevery\b)\s*(\d+)?\s*([a-z]+)$/.exec(plain);
  if (match === null) return undefined;
  const word = match[4] ?? '';
  const windowMs = parseWindow(`${match[3] ?? ''}${WORDS_MS[word] ?? word}`);
  const limit = Number(match[1]);
  if (windowMs === undefined || windowMs <= 0 || limit < 1) return undefined;
  const unit = match[2];
  return declared(limit, unit === 'req' || unit === 'reqs' ? REQUESTS : unit, windowMs).text;
}
