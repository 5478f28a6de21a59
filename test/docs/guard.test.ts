import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { run } from '../../src/cli/run.ts';
import { scanText } from '../../src/guard/scan.ts';
import { blockAt, blocksOf, read } from './support/pages.ts';

const PAGE = 'docs/guard.md';

describe('penstock guard', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-docs-'));
    vi.spyOn(process, 'cwd').mockReturnValue(folder);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });

  test('what is printed of the file above it', async () => {
    const file = join(folder, 'src/tools/carrier.ts');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, blockAt(PAGE, 'ts', 'penstock guard').code);
    let printed = '';
    const out = (text: string) => (printed += text);
    expect(await run(['guard', folder], { env: {}, out, err: out })).toBe(1);
    expect(printed).toBe(`${blockAt(PAGE, 'text', 'penstock guard').code}\n`);
  });
});

test('What it knows to be gated', () => {
  const { code } = blockAt(PAGE, 'ts', 'What it knows to be gated');
  expect(scanText('a.ts', code)).toEqual({ findings: [], exempted: [], unused: [], problem: undefined });
  const direct = code
    .replaceAll('callDownstream', 'run')
    .replaceAll('acquire', 'get')
    .replace('fetch: gatedFetch, ', '');
  expect(scanText('a.ts', direct).findings).toHaveLength(3);
});

test('One place that may', () => {
  const report = scanText('a.ts', blockAt(PAGE, 'ts', 'One place that may').code);
  expect(report.findings).toEqual([]);
  expect(report.exempted.map(({ reason }) => reason)).toEqual(['our own service, on the same machine']);
});

describe('What it finds', () => {
  const inPage = (text: string) => expect(read(PAGE)).toContain(`\`${text}\``);
  test.each([
    ['', 'fetch(u)'],
    ['', 'globalThis.fetch(u)'],
    ['', 'self.fetch(u)'],
    ['', 'new XMLHttpRequest()'],
    ['', 'new EventSource(u)'],
    ['', 'navigator.sendBeacon(u)'],
    ['', 'const f = fetch'],
    ['', 'retrying(fetch)'],
    ["import axios from 'axios'", 'axios.create()'],
    ["import got from 'got'", 'got.extend()'],
    ["import { Pool } from 'undici'", 'new Pool(url)'],
    ["import OpenAI from 'openai'", 'new OpenAI()'],
    ["import Anthropic from '@anthropic-ai/sdk'", 'new Anthropic()'],
    ["import { Octokit } from 'octokit'", 'new Octokit()'],
    ["import Stripe from 'stripe'", 'new Stripe(key)'],
    ["import { createOpenAI } from '@ai-sdk/openai'", 'createOpenAI()'],
    ['', "export { default } from 'axios'"],
    ["import axios from 'axios'", 'export const http = axios'],
  ])('%s: %s', (before, text) => {
    inPage(text);
    expect(scanText('a.ts', `${before};\n${text};`).findings).toMatchObject([{ line: 2 }]);
  });
});

test('every option of the page is one of the command', async () => {
  let help = '';
  await run(['guard', '--help'], { env: {}, out: (text) => (help += text), err: () => undefined });
  const options = [...read(PAGE).matchAll(/--[a-z-]+/g)].map(([option]) => option);
  for (const option of options.filter((one) => !one.startsWith('---'))) expect(help).toContain(option);
  expect(blocksOf(PAGE).filter(({ lang }) => lang === 'sh')).toHaveLength(1);
});

describe('what the pages recommend is no finding', () => {
  const GUIDES = ['README.md', 'docs/agents.md', 'docs/mcp.md', 'docs/fetch.md', 'docs/from-bottleneck.md'];
  const blocks = GUIDES.flatMap(blocksOf).filter(({ lang }) => lang === 'ts');
  const findings = (code: string) => scanText('a.ts', code).findings.map(({ line, what }) => `${line} ${what}`);

  test.each(blocks.map((block) => [`${block.page}: ${block.title}`, block] as const))('%s', (_, { code }) => {
    expect(scanText('a.ts', code)).toEqual({ findings: [], exempted: [], unused: [], problem: undefined });
  });

  const aiTools = `import { tool } from 'ai'; const load = () => fetch(u);
    const search = tool({ execute: load }); const status = tool({ execute: async () => fetch(u) });`;
  const chainTools = `import { tool } from '@langchain/core/tools'; const load = () => fetch(u);
    const search = tool(load, {}); const status = tool(async () => fetch(u), {});`;
  const client = `import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
    const client = new Client(info); await client.connect(new StreamableHTTPClientTransport(url));`;

  test.each([
    ['docs/agents.md', 'Vercel AI SDK', aiTools, 2],
    ['docs/agents.md', 'OpenAI Agents', 'const readStatus = async ({ id }) => fetch(id);', 1],
    ['docs/agents.md', 'LangChain and LangGraph', chainTools, 2],
    ['docs/agents.md', 'LangChain and LangGraph #2', `${chainTools} const tools = [search, status];`, 2],
    ['docs/mcp.md', 'A client', client, 1],
    ['docs/mcp.md', 'A map by tool', client, 1],
    [
      'docs/fetch.md',
      "undici, and Node's own fetch",
      "export const f = () => request(u); import { request } from 'undici';",
      1,
    ],
  ])('%s, %s: with what it is given written out', (page, title, given, without) => {
    expect(findings(`${given}\n${blockAt(page, 'ts', title).code}`)).toEqual([]);
    expect(findings(given)).toHaveLength(without);
  });
});
