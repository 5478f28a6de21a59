import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..', '..');

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  /** Where the first line of the code stands in the page, 1 for the first. */
  readonly line: number;
  /** The heading above it; `#2` and so on is added from the second block of one language on. */
  readonly title: string;
  readonly lang: string;
  /** What follows the language on the fence: `prints`, `file=...`. */
  readonly info: string;
  readonly code: string;
  /** Names that the code uses and does not declare: `<!-- given: a, b -->` above the fence. */
  readonly given: readonly string[];
}

/** The pages whose code must run. Decisions are records: what stands in them was true on their day. */
export const PAGES: readonly string[] = ['README.md', 'CHANGELOG.md', ...under('docs')];

export function read(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  const counts = new Map<string, number>();
  const lines = read(page).split('\n');
  let heading = '';
  let given: string[] = [];
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i] ?? '';
    heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading;
    given = /^<!-- given: (.+) -->$/.exec(line)?.[1]?.split(', ') ?? given;
    const fence = /^```(\w+) ?(.*)$/.exec(line);
    if (fence === null) continue;
    const from = i + 1;
    while (lines[i + 1] !== '```') {
      i += 1;
      if (i >= lines.length) throw new Error(`${page}:${from}: this block has no end`);
    }
    const lang = fence[1] ?? '';
    const count = (counts.get(`${lang} ${heading}`) ?? 0) + 1;
    counts.set(`${lang} ${heading}`, count);
    blocks.push({
      page,
      line: from + 1,
      title: count === 1 ? heading : `${heading} #${count}`,
      lang,
      info: fence[2] ?? '',
      code: lines.slice(from, i + 1).join('\n'),
      given,
    });
    given = [];
    i += 1;
  }
  return blocks;
}

/** All blocks of one language, of all pages. */
export function allBlocks(lang: string): Block[] {
  return PAGES.flatMap(blocksOf).filter((block) => block.lang === lang);
}

/** One block by its title; throws where there is none. */
export function blockAt(page: string, lang: string, title: string): Block {
  const found = blocksOf(page).find((block) => block.lang === lang && block.title === title);
  if (found === undefined) throw new Error(`${page}: no ${lang} block called "${title}"`);
  return found;
}

function under(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}/${name}`);
}
