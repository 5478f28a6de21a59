import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createDispatcher, type PolicyInput } from '../../src/index.ts';
import { ManualClock } from '../../src/testing.ts';
import { ROOT, read } from './support/pages.ts';

const PAGE = 'docs/architecture.md';

/** Names and the file they are said to be in: rows of the tables, and `name` (src/file.ts) in the text. */
function claims(): { names: string[]; file: string }[] {
  const page = read(PAGE);
  const rows = [...page.matchAll(/^\| [^|]+ \| ([^|]+) \| \[(src\/[\w/.-]+)\]/gm)];
  const prose = [...page.matchAll(/(`[^`\n]+`) \((src\/[\w/.-]+)\)|(`[^`\n]+`) in (src\/[\w/-]+\.ts)/g)];
  return [...rows, ...prose].map(([, cell, file, cellIn, fileIn]) => ({
    names: [...(cell ?? cellIn ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''),
    file: file ?? fileIn ?? '',
  }));
}

describe('what the page names is where it says', () => {
  test('there are claims', () => expect(claims().length).toBeGreaterThan(28));

  test.each(claims())('$names in $file', ({ names, file }) => {
    const source = readFileSync(join(ROOT, file), 'utf8');
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect(source).toMatch(declaration(name));
  });
});

/** A function, method, class, type or field of that name; `#` needs no word boundary before it. */
function declaration(name: string): RegExp {
  const word = name.startsWith('#') ? name : `\\b${name}`;
  return new RegExp(
    `(?:function|class|type|interface|const|let) ${word}\\b|^  (?:readonly |async |get )*${word}(?:\\(|:| =|<)|^  ${word}\\b`,
    'm',
  );
}

describe('what the page counts', () => {
  function lane(policy: PolicyInput['downstreams'][string]) {
    const clock = new ManualClock();
    const dispatcher = createDispatcher<PolicyInput>(
      { downstreams: { carrier: policy } },
      { clock, alertSinks: [], env: {} },
    );
    return { clock, ...dispatcher };
  }

  test('a call that need not wait sets no timer; with a deadline the lane sets one', async () => {
    const { clock, callDownstream } = lane({ quota: '1000/second' });
    const before = clock.timersSet;
    await callDownstream('carrier', () => 1);
    expect(clock.timersSet - before).toBe(0);
    const deadline = clock.wallNow() + 30_000;
    const running = callDownstream('carrier', () => new Promise(() => undefined), { deadline });
    running.catch(() => undefined);
    await clock.advance(0);
    await callDownstream('carrier', () => 1, { deadline });
    expect(clock.timersSet - before).toBe(1);
  });

  test('a thousand waiters have one timer and, with one signal, one listener', async () => {
    const { clock, callDownstream } = lane({ quota: '60/minute' });
    const controller = new AbortController();
    const ctx = { signal: controller.signal, deadline: clock.wallNow() + 3_600_000 };
    const calls = Array.from({ length: 1_000 }, () => callDownstream('carrier', () => 1, ctx));
    await clock.advance(0);
    expect(clock.pendingTimers).toBe(1);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort();
    await Promise.allSettled(calls);
    await clock.advance(0);
    expect([clock.pendingTimers, getEventListeners(controller.signal, 'abort').length]).toEqual([0, 0]);
  });

  test('the ledger has the rows that the page says', () => {
    const source = readFileSync(join(ROOT, 'src/model/ledger.ts'), 'utf8');
    expect(source).toContain('MOST_ENTRIES = 1 << 16');
    expect((1 << 16).toLocaleString('en')).toBe('65,536');
    expect(read(PAGE)).toContain('65,536');
  });
});
