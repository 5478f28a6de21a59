import { describe, expect, test } from 'vitest';
import { places } from './support/places.ts';

const read = (...lines: string[]) => places(lines.join('\n'));

describe('a comment with a reason', () => {
  test.each([
    ['on the line', ['fetch(u); // penstock-allow: our own health check']],
    ['on the line before', ['// penstock-allow: our own health check', 'fetch(u);']],
    [
      'on the line before, with more text',
      ['// penstock-allow: our own health check', '// which has no quota', 'fetch(u);'],
    ],
    ['after other comments', ['// Pings.', '// penstock-allow: our own health check', 'const r = await fetch(u);']],
    ['in a block', ['/* penstock-allow: our own health check */', 'fetch(u);']],
    ['in a block on the line', ['/* penstock-allow: our own health check */ fetch(u);']],
    ['in a block of more lines', ['/**', ' * penstock-allow: our own health check', ' */', 'fetch(u);']],
    ['in JSX', ['const a = <A>', '  {/* penstock-allow: our own health check */}', '  {fetch(u)}', '</A>;']],
    ['with two on its line', ['// penstock-allow: our own health check', 'const all = [fetch(u), fetch(v)];']],
    ['without the colon', ['// penstock-allow our own health check', 'fetch(u);']],
  ])('%s', (_, lines) => {
    const { found, report } = read(...lines);
    expect(found).toEqual([]);
    expect(report.exempted.map(({ reason }) => reason)).toContain('our own health check');
    expect(report.unused).toEqual([]);
  });

  test('lines may end as on Windows', () => {
    expect(places('// penstock-allow: a reason\r\nfetch(u);\r\nfetch(v);\r\n').found).toEqual(['3:1']);
  });

  test('is for its own line, or the next one, and no further', () => {
    expect(read('fetch(u); // penstock-allow: a', 'fetch(v);').found).toEqual(['2:1']);
    expect(read('// penstock-allow: a', 'fetch(u);', 'fetch(v);').found).toEqual(['3:1']);
    expect(read('// penstock-allow: a', '', 'fetch(v);').found).toEqual(['3:1']);
    expect(read('fetch(u);', '// penstock-allow: a').found).toEqual(['1:1']);
  });
});

test('without a reason it exempts nothing, and the finding says so', () => {
  for (const comment of ['// penstock-allow', '// penstock-allow:', '/* penstock-allow:  */']) {
    const { found, report } = read(comment, 'fetch(u);');
    expect(found).toEqual(['2:1']);
    expect(report.findings[0]?.problem).toBe('passes no gate (its penstock-allow gives no reason)');
  }
});

test('one that exempts nothing is told', () => {
  const { report } = read('// penstock-allow: left behind', 'gated(u);');
  expect(report.unused).toEqual([1]);
});

test('text that only looks like one is none', () => {
  expect(read("const a = '// penstock-allow: a'; fetch(u);").found).toEqual(['1:35']);
  expect(read('// see penstock-allowance: a', 'fetch(u);').found).toEqual(['2:1']);
});
