/**
 * What a well-formed value means, read the slow way: exact numbers, the platform's own dates, no shared code.
 * Milliseconds from `now`, as a fraction of two integers where it matters; undefined for all other text.
 */
export function slowWaitMs(text: string, now: number): number | undefined {
  return slowNumber(text, now) ?? slowDuration(text) ?? slowInstant(text, now);
}

const MOST = BigInt(Number.MAX_SAFE_INTEGER);

function ceilDiv(a: bigint, b: bigint): bigint {
  return a % b === 0n ? a / b : a / b + (a > 0n ? 1n : 0n);
}

function bounded(ms: bigint): number {
  return Number(ms > MOST ? MOST : ms);
}

function slowNumber(text: string, now: number): number | undefined {
  if (!/^[0-9]+([.][0-9]+)?$/.test(text)) return undefined;
  const [whole = '', fraction = ''] = text.split('.');
  const scale = 10n ** BigInt(fraction.length);
  const scaled = BigInt(whole + fraction);
  // As long as no epoch can be, it is simply very long.
  if (scaled / scale > MOST / 1_000n) return Number.MAX_SAFE_INTEGER;
  if (scaled >= 100_000_000_000n * scale) return bounded(ceilDiv(scaled, scale) - BigInt(now));
  const ms = ceilDiv(scaled * 1_000n, scale);
  return bounded(scaled >= 1_000_000_000n * scale ? ms - BigInt(now) : ms);
}

const NS: Readonly<Record<string, bigint>> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
};

function slowDuration(text: string): number | undefined {
  let rest = text;
  let ns = 0n;
  while (rest !== '') {
    const match = /^([0-9]+)(?:[.]([0-9]{1,9}))?(ms|h|m|s)/.exec(rest);
    if (match === null) return undefined;
    const fraction = match[2] ?? '';
    const unit = NS[match[3]!]!;
    ns += ceilDiv(BigInt(match[1]! + fraction) * unit, 10n ** BigInt(fraction.length));
    rest = rest.slice(match[0].length);
  }
  return text === '' ? undefined : bounded(ceilDiv(ns, 1_000_000n));
}

const STAMP = /^2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,3})?(Z|[+-][0-9]{2}:[0-9]{2})$/;
const FIXED = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), ([0-9]{2}) [A-Z][a-z]{2} 2[0-9]{3} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/;

function slowInstant(text: string, now: number): number | undefined {
  const fixed = FIXED.exec(text);
  if (fixed === null && !STAMP.test(text)) return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  // The platform turns the 31st of February into a day of March.
  const day = fixed?.[2] ?? text.slice(8, 10);
  if (fixed !== null && new Date(at).getUTCDate() !== Number(day)) return undefined;
  if (fixed === null && new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() !== Number(day)) return undefined;
  return at - now;
}
