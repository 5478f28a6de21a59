/** Values as servers send them: what is hostile is made from these. */
const REAL = [
  '0',
  '7',
  '60',
  '2.0',
  '0.5',
  '299.997',
  '2592000',
  '-1',
  '1796083242',
  '1796083242000',
  '1470173023.123',
  '6m0s',
  '1m26.4s',
  '120ms',
  '4h36m28.223s',
  '45.837906927s',
  'PT1M30S',
  '00:01:30',
  '2026-12-01T00:00:07Z',
  '2026-12-01T00:01Z',
  '2026-12-01T02:00:07.123456+02:00',
  '2026-12-01 00:00:07 -0700',
  'Tue, 01 Dec 2026 00:00:07 GMT',
  'Tuesday, 01-Dec-26 00:00:07 GMT',
  'Tue Dec  1 00:00:07 2026',
  'Tue Dec 01 2026 01:00:07 GMT+0100 (Central European Standard Time)',
  '5, 10',
  '100, 100;w=60, 10000;window=86400',
  '1;w=1, 15000;w=2592000',
  '"burst";q=100;w=60,"daily";q=1000;w=86400',
  '"burst";r=5;t=10, "daily";r=0;t=3600;pk=:c2Rm:',
  'limit=100, remaining=0, reset=30',
  'total=100; remaining=99; resets=59',
  'name=default,100;',
  '32/40',
  'api-usage=18/5000',
  '20:1,100:120',
  'throttle_authenticated_web',
];

/** Pieces that have broken parsers. */
const POISON = [
  '-',
  '+',
  'e',
  'e9',
  'E+308',
  '0x',
  '.',
  '..',
  ',',
  ', ',
  ';',
  ':',
  '"',
  '\\',
  '%',
  '(',
  ')',
  ' ',
  '\t',
  '\n',
  '\u0000',
  '\u0662',
  '\u00b2',
  '\uff17',
  '\u{1d7d9}',
  '\u2212',
  'NaN',
  'Infinity',
  '-Infinity',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  'T',
  'Z',
  'GMT',
  'ms',
  's',
  'm',
  'P',
  '00',
  '9'.repeat(20),
  '9'.repeat(400),
  '1'.repeat(15),
  '=',
  '/',
  '/0',
];

const NAMES = [
  'retry-after',
  'retry-after',
  'retry-after-ms',
  'x-ms-retry-after-ms',
  'x-amz-retry-after',
  'x-ratelimit-retry-after',
  'x-ratelimit-reset',
  'x-ratelimit-reset',
  'x-ratelimit-remaining',
  'x-ratelimit-limit',
  'x-ratelimit-used',
  'x-ratelimit-policy',
  'x-ratelimit-reset-after',
  'x-ratelimit-reset-ms',
  'x-ratelimit-resource',
  'x-ratelimit-interval-seconds',
  'x-ratelimit-fillrate',
  'ratelimit',
  'ratelimit-policy',
  'ratelimit-reset',
  'ratelimit-limit',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens-minute',
  'anthropic-ratelimit-input-tokens-remaining',
  'anthropic-ratelimit-input-tokens-reset',
  'x-shopify-shop-api-call-limit',
  'sforce-limit-info',
  'date',
  'age',
];

/** Numbers in [0, 1) from a seed: quick, and the same each time. */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)]!;
}

/** A value as a server could send it, or what became of one. */
export function hostileText(random: () => number): string {
  let text = pick(random, REAL);
  const changes = Math.floor(random() * 4);
  for (let n = 0; n < changes; n += 1) {
    const at = Math.floor(random() * (text.length + 1));
    const what = random();
    if (what < 0.45) text = text.slice(0, at) + pick(random, POISON) + text.slice(at);
    else if (what < 0.65) text = text.slice(0, at) + text.slice(at + 1 + Math.floor(random() * 3));
    else if (what < 0.8) text = text.slice(0, at) + Math.floor(random() * 10) + text.slice(at + 1);
    else if (what < 0.9) text = `${text},${pick(random, REAL)}`;
    else text = text.slice(0, at) + pick(random, REAL);
  }
  return text;
}

/** One for all: to make an error is what would take the time. */
const NO = new Error('no');
const throwing = (): never => {
  throw NO;
};

/** What may stand where text is expected. */
function hostileValue(random: () => number, text: string): unknown {
  const kind = Math.floor(random() * 24);
  if (kind === 0) return [text, hostileText(random)];
  if (kind === 1) return Number(text);
  if (kind === 2)
    return pick<unknown>(random, [undefined, null, true, Symbol('x'), {}, [[]], new Uint8Array(3), 10n ** 30n, -0]);
  if (kind === 3)
    return pick(random, [Number.MAX_VALUE, Number.MIN_VALUE, Number.NaN, Number.POSITIVE_INFINITY, -1, 1e21, 2 ** 53]);
  return text;
}

/** Some headers, and a container of them. */
export function hostileHeaders(random: () => number): {
  readonly texts: readonly string[];
  readonly container: unknown;
} {
  const count = 1 + Math.floor(random() * 4);
  const entries: [string, unknown][] = [];
  const texts: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const name = pick(random, NAMES);
    const text = name === 'x-ratelimit-remaining' && random() < 0.5 ? '0' : hostileText(random);
    texts.push(`${name}: ${text}`);
    entries.push([random() < 0.2 ? name.toUpperCase() : name, hostileValue(random, text)]);
  }
  return { texts, container: contained(random, entries) };
}

function contained(random: () => number, entries: readonly [string, unknown][]): unknown {
  const plain = Object.fromEntries(entries);
  switch (Math.floor(random() * 12)) {
    case 0:
      return new Map(entries);
    case 1:
      return entries;
    case 2:
      return entries.flat();
    case 3:
      return Object.assign(Object.create(null), plain);
    case 4:
      return Object.defineProperty(plain, 'a', { get: throwing, enumerable: true });
    case 5:
      return { get: (name: string) => plain[name] };
    case 6:
      return { ...plain, get: throwing };
    case 7:
      return new Proxy(plain, random() < 0.2 ? { ownKeys: throwing, get: throwing } : {});
    case 8:
      return entries.map(([name, value]) => ({ name, value }));
    default:
      return plain;
  }
}
