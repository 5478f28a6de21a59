import { expect, test } from 'vitest';
import { RULES } from '../../src/feedback/diagnosis.ts';
import { SHOWN, shown } from './support/alerts.ts';
import { blocksOf, read } from './support/pages.ts';

const PAGE = 'docs/diagnosis.md';
const blocks = blocksOf(PAGE).filter(({ lang }) => lang === 'text');

test.each(Object.entries(SHOWN))('the alert that is shown for %s is the one that comes', async (name, make) => {
  const block = blocks.find(({ info }) => info === `shows=${name}`);
  expect(block?.code).toBe(shown(await make()));
});

test('every hypothesis has a section, and every block an alert', () => {
  const headings = [...read(PAGE).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  for (const hypothesis of [...RULES.map((rule) => rule.hypothesis), 'unknown']) expect(headings).toContain(hypothesis);
  expect(blocks.map(({ info }) => info.replace('shows=', '')).sort()).toEqual(Object.keys(SHOWN).sort());
});
