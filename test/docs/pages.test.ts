import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parsePolicy } from '../../src/policy/parse.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';
import { allBlocks, blocksOf, PAGES, ROOT, read } from './support/pages.ts';

const text = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** A page's own test; a long page has several, `recipes-tools.test.ts` beside `recipes.test.ts`. */
function runnersOf(page: string): string {
  const name = page.split('/').at(-1)?.replace('.md', '').toLowerCase() ?? '';
  const files = readdirSync(join(ROOT, 'test/docs')).filter(
    (file) => file.startsWith(name) && file.endsWith('.test.ts'),
  );
  return files.map((file) => text(`test/docs/${file}`)).join('\n');
}

describe('every block of code is run by a test', () => {
  test.each(allBlocks('ts').map((block) => [`${block.page}:${block.line}`, block] as const))('%s', (_, block) => {
    const runner = runnersOf(block.page);
    expect(runner).toContain(block.title.replace(/ #\d+$/, ''));
    if (block.title.endsWith('#2')) expect(runner).toMatch(/ #2['`]/);
  });

  test('no page hides code from the tests behind another name', () => {
    const langs = PAGES.flatMap(blocksOf).map(({ lang }) => lang);
    // telemetry.md starts a process of its own with its js block; its own test reads the rest.
    expect([...new Set(langs)].sort()).toEqual(['js', 'promql', 'sh', 'text', 'ts', 'yaml']);
    expect(allBlocks('js').map(({ page }) => page)).toEqual(['docs/telemetry.md']);
  });
});

test.each(allBlocks('yaml').map((block) => [`${block.page}:${block.line}`, block.code] as const))(
  '%s is a policy without problems',
  (where, code) => {
    expect(() => resolvePolicy(parsePolicy(code, where).policy, { env: {} })).not.toThrow();
  },
);

test('commands exist', () => {
  const { scripts, bin } = JSON.parse(text('package.json')) as { scripts: object; bin: object };
  const said = PAGES.map(read).join('\n');
  for (const [, name] of said.matchAll(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(name);
  for (const [, name] of said.matchAll(/npx tsx ([\w./-]+)/g)) expect(existsSync(join(ROOT, name ?? ''))).toBe(true);
  const commands = [...said.matchAll(/`(?:npx )?penstock (\w+)/g)].map(([, name]) => name);
  expect(Object.keys(bin)).toContain('penstock');
  for (const name of commands) expect(text('src/cli/run.ts')).toContain(`['${name}', `);
});

describe('links', () => {
  const decisions = ['docs/decisions/0001-bottleneck-not-in-the-call-path.md'];
  test.each([...PAGES, ...decisions])('of %s lead somewhere', (page) => {
    const broken = linksOf(page).filter((link) => !leads(page, link));
    expect(broken).toEqual([]);
  });

  test('every page and every decision can be reached from the README', () => {
    const seen = new Set<string>();
    const visit = (page: string): void => {
      if (seen.has(page) || !page.endsWith('.md')) return;
      seen.add(page);
      for (const link of linksOf(page)) if (!isOutside(link)) visit(join(dirname(page), link.split('#')[0] ?? ''));
    };
    visit('README.md');
    expect(PAGES.filter((page) => !seen.has(page))).toEqual([]);
  });

  test('a dead one would be found', () => {
    expect(leads('README.md', 'docs/nothing.md')).toBe(false);
    expect(leads('README.md', 'docs/recipes.md#no-such-heading')).toBe(false);
    expect(leads('docs/recipes.md', '../README.md#what-it-costs')).toBe(true);
  });
});

const isOutside = (link: string): boolean => /^https?:/.test(link);

function linksOf(page: string): string[] {
  const prose = read(page).replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...prose.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link ?? '');
}

function leads(page: string, link: string): boolean {
  if (isOutside(link)) return URL.canParse(link);
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (!existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(target).includes(anchor);
}

/** As GitHub makes them. */
function anchorsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
