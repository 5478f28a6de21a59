/** Stands for every wait too long to be a number. */
export const VERY_LONG_MS = Number.MAX_SAFE_INTEGER;

const DECIMAL = /^(\d+)(?:\.(\d*))?$|^\.(\d+)$/;
const NUMBER = '(?:\\d+(?:\\.\\d*)?|\\.\\d+)';
const UNIT =
  'days?|d|hours?|hrs?|h|minutes?|mins?|milliseconds?|millis|msecs?|ms|m|seconds?|secs?|s|microseconds?|us|\u00b5s|\u03bcs|nanoseconds?|ns';
const SEGMENTS = new RegExp(`^(?:${NUMBER} ?(?:${UNIT}) ?)+$`);
const SEGMENT = new RegExp(`(${NUMBER}) ?(${UNIT})`, 'g');
const ISO =
  /^p(?:(\d+)y)?(?:(\d+)m)?(?:(\d+)w)?(?:(\d+)d)?(?:t(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?)?$/;
const CLOCK = /^(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2}(?:\.\d+)?)$/;

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
/** Of a month and a year the longest there is: nobody is to come back early. */
const ISO_UNITS = [366 * DAY, 31 * DAY, 7 * DAY, DAY, HOUR, MINUTE, SECOND];

/**
 * Milliseconds of a duration that names its units, rounded up: as Go prints it (`6m0s`, `1m26.4s`, `120ms`), in
 * words (`30 seconds`), of ISO 8601 (`PT1M30S`), or as a clock (`00:01:30`). `undefined` for other text, a
 * bare number and a sign among it.
 */
export function parseDurationText(text: string): number | undefined {
  const lower = text.toLowerCase();
  if (SEGMENTS.test(lower)) {
    let sum = 0;
    for (const [, value = '', unit = ''] of lower.matchAll(SEGMENT)) sum += scaled(value, unitMs(unit));
    return bounded(sum);
  }
  const iso = ISO.exec(lower);
  if (iso !== null && /\d[a-z]$/.test(lower)) return total(iso.slice(1), ISO_UNITS);
  const clock = CLOCK.exec(lower);
  return clock === null ? undefined : total(clock.slice(1), [DAY, HOUR, MINUTE, SECOND]);
}

function total(values: readonly (string | undefined)[], units: readonly number[]): number {
  return bounded(values.reduce((sum, value, at) => sum + scaled(value ?? '0', units[at] ?? 0), 0));
}

function unitMs(unit: string): number {
  if (/^d/.test(unit)) return DAY;
  if (/^h/.test(unit)) return HOUR;
  if (/^(?:milli|ms)/.test(unit)) return 1;
  if (/^micro|^[u\u00b5\u03bc]s$/.test(unit)) return 1e-3;
  if (/^n/.test(unit)) return 1e-6;
  return /^m/.test(unit) ? MINUTE : SECOND;
}

/** Rounded up; what a product of floats adds in its last places is no millisecond. */
function scaled(value: string, unit: number): number {
  if (unit === SECOND || unit === 1) return decimal(value, unit === SECOND ? 3 : 0) ?? 0;
  const ms = Number(value) * unit;
  const nearest = Math.round(ms);
  return Math.abs(ms - nearest) < nearest * 1e-12 ? nearest : Math.ceil(ms);
}

function bounded(ms: number): number {
  return Math.min(ms, VERY_LONG_MS);
}

/**
 * A plain decimal number times 10^shift, rounded up to a whole number; no sign, exponent or hexadecimal.
 * Works on the digits: 0.0001 must not vanish, and 299.997 · 1000 must not gain a millisecond.
 */
export function decimal(text: string, shift: number): number | undefined {
  const match = DECIMAL.exec(text);
  if (match === null) return undefined;
  const fraction = match[2] ?? match[3] ?? '';
  const whole = Number((match[1] ?? '0') + fraction.slice(0, shift).padEnd(shift, '0'));
  const rest = /[1-9]/.test(fraction.slice(shift)) ? 1 : 0;
  return Math.min(whole + rest, VERY_LONG_MS);
}
