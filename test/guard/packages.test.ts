import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isCandidate } from '../../src/guard/catalog.ts';
import { parseText } from '../../src/guard/parse.ts';
import { scanText } from '../../src/guard/scan.ts';
import { Uses } from '../../src/guard/uses.ts';

const CODE = /(?<!\.d)\.[cm]?[jt]sx?$/;

/** Files of code below a folder; nested packages are somebody else's. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && CODE.test(entry.name) && !entry.name.includes('.min.'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.slice(folder.length).includes('/node_modules/'))
    .sort();
}

/** All that is found in a package, as `file:line what`. */
function found(name: string, folder = ''): string[] {
  const root = join('node_modules', name, folder);
  const files = filesOf(root);
  expect(files.length).toBeGreaterThan(0);
  return files.flatMap((path) => {
    const { findings, problem } = scanText(path, readFileSync(path, 'utf8'));
    expect(problem, path).toBeUndefined();
    return findings.map(({ line, what }) => `${path.slice(root.length + 1)}:${line} ${what}`);
  });
}

describe('packages that call directly: every place, counted by hand', () => {
  test('@modelcontextprotocol/sdk', () => {
    expect(found('@modelcontextprotocol/sdk', 'dist/esm')).toEqual([
      'client/auth.js:515 fetch',
      'client/auth.js:533 fetch',
      'client/auth.js:564 fetch',
      'client/auth.js:608 fetch',
      'client/auth.js:696 fetch',
      'client/auth.js:862 fetch',
      'client/auth.js:1006 fetch',
      'client/sse.js:78 fetch',
      'client/sse.js:186 fetch',
      'client/streamableHttp.js:100 fetch',
      'client/streamableHttp.js:320 fetch',
      'client/streamableHttp.js:458 fetch',
      'examples/server/elicitationUrlExample.js:179 fetch(...)',
      'examples/server/simpleStreamableHttp.js:517 fetch(...)',
      'server/auth/providers/proxyProvider.js:31 (this._fetch ?? fetch)(...)',
      'server/auth/providers/proxyProvider.js:51 (this._fetch ?? fetch)(...)',
      'server/auth/providers/proxyProvider.js:111 (this._fetch ?? fetch)(...)',
      'server/auth/providers/proxyProvider.js:140 (this._fetch ?? fetch)(...)',
      'shared/transport.js:24 fetch',
      'shared/transport.js:77 (baseFetch ?? fetch)(...)',
      'shared/transport.js:82 fetch',
    ]);
  });

  test('axios: by fetch, by XMLHttpRequest, by node:http, by node:http2', () => {
    expect(found('axios', 'lib')).toEqual([
      'adapters/fetch.js:237 fetch',
      'adapters/http.js:219 https',
      'adapters/http.js:219 http',
      'adapters/http.js:1258 transport.request(...)',
      'adapters/xhr.js:80 new XMLHttpRequest(...)',
      'helpers/Http2Sessions.js:42 http2.connect(...)',
    ]);
  });

  test('got: one of three, as the options say', () => {
    expect(found('got', 'dist/source')).toEqual([
      'core/options.js:1812 http2wrapper.auto',
      'core/options.js:1814 https.request',
      'core/options.js:1816 http.request',
    ]);
  });

  test.each([
    ['openai', 'src', ['internal/shims.ts:15 fetch']],
    ['@anthropic-ai/sdk', 'src/internal', ['shims.ts:13 fetch']],
    ['@octokit/request', 'dist-src', ['fetch-wrapper.js:8 globalThis.fetch']],
    ['node-fetch', 'src', ['index.js:65 (... ? https : http).request']],
    ['eventsource', 'src', ['EventSource.ts:206 globalThis.fetch']],
    ['jose', 'dist/webapi', ['jwks/remote.js:10 fetch']],
    // Whose own fetch is called fetch in a hundred places.
    ['undici', 'lib', ['dispatcher/client-h2.js:100 http2.connect(...)']],
  ])('%s', (name, folder, places) => expect(found(name, folder)).toEqual(places));
});

describe('packages that do not', () => {
  const quiet = [
    'zod',
    'yaml',
    'fast-check',
    'chokidar',
    'p-limit',
    'p-queue',
    'picocolors',
    'cli-table3',
    'bottleneck',
    'structured-headers',
    'cockatiel',
    'ajv',
    'qs',
    'chai',
    'mustache',
    'express',
    'body-parser',
    'send',
    'finalhandler',
  ];
  test.each(quiet)('%s', (name) => expect(found(name)).toEqual([]));

  test('nor where every file is read, without the look at its text first', () => {
    for (const path of ['yaml', 'express', 'p-queue', 'bottleneck'].flatMap((name) =>
      filesOf(`node_modules/${name}`),
    )) {
      expect(new Uses(parseText(path, readFileSync(path, 'utf8')).program, {}).findings(), path).toEqual([]);
    }
  });
});

test('a file that names nothing of interest is not parsed', () => {
  const files = filesOf('node_modules/zod').map((path) => readFileSync(path, 'utf8'));
  expect(files.filter(isCandidate).length).toBeLessThan(files.length / 20);
});

describe('a file that nobody writes by hand', () => {
  const many = (count: number, text: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => text(n)).join('');
  test.each([
    ['a chain of 300 calls', `fetch(u)${'.then(x)'.repeat(300)}`, 1],
    ['a chain of 300 calls of a module', `import('got')${'.then((m) => m)'.repeat(300)}.then((got) => got(u))`, 1],
    [
      'names given to each other',
      `import h from 'http'; let a0 = h;${many(40, (n) => `let a${n + 1} = x ? a${n} : a${n};`)}a40.get(u)`,
      1,
    ],
    ['a name given a thousand times', `let f;${'f = require("http");'.repeat(1_000)}f.get(u)`, 1],
    [
      'helpers of helpers',
      `${many(300, (n) => `function f${n}() { f${n + 1}(); f${n + 1}(); }`)}function f300() { fetch(u) } f0()`,
      1,
    ],
  ])('%s', (_, text, count) => expect(scanText('a.js', text).findings).toHaveLength(count));

  test('what is nested beyond all measure is a file that could not be read', () => {
    const report = scanText('a.js', `${'['.repeat(100_000)}fetch${']'.repeat(100_000)}`);
    expect(report.problem).toBe('it is nested too deep');
  });
});

test('Penstock itself sends from two places, alerts to their receivers and `top` to processes; adapters hand on what they gate', () => {
  const places = filesOf('src').flatMap((path) =>
    scanText(path, readFileSync(path, 'utf8')).findings.map(({ line, what }) => [path, line, what]),
  );
  expect(places).toEqual([
    ['src/adapters/fetch.ts', expect.any(Number), 'globalThis.fetch'],
    ['src/adapters/mcp/transport-fetch.ts', expect.any(Number), 'globalThis.fetch(...)'],
    ['src/alerts/sinks/post.ts', expect.any(Number), 'fetch(...)'],
    ['src/cli/top-fetch.ts', expect.any(Number), 'fetch(...)'],
  ]);
});
