import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run } from '../../src/cli/run.ts';

async function penstock(...args: string[]) {
  let out = '';
  let err = '';
  const code = await run(args, { env: {}, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

/** What `check` says of a policy. */
async function checked(text: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-profiles-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'p.yaml');
  writeFileSync(file, text);
  return (await penstock('check', file)).out.split('\n');
}

test('the list says what each is, and what of it nobody has published', async () => {
  const { code, out } = await penstock('profiles');
  expect(code).toBe(0);
  expect(out).toMatch(/^arxiv +1\/3s, 1 at a time: arXiv API$/m);
  expect(out).toMatch(/^gemini-free +5\/minute \(unpublished\): /m);
  expect(out).toMatch(/^polite-host +1 at a time \(unpublished\): /m);
});

test('one of them is shown with its sources', async () => {
  const { code, out } = await penstock('profiles', 'arxiv');
  expect(code).toBe(0);
  expect(out).toContain('figures:');
  expect(out).toContain('source: https://');
});

test('what is not understood is answered with what would be', async () => {
  expect(await penstock('profiles', 'arxvi')).toMatchObject({
    code: 2,
    err: expect.stringContaining('no profile "arxvi"; did you mean arxiv?'),
  });
  expect((await penstock('profiles', 'a', 'b')).code).toBe(2);
});

test('check tells which quotas of a profile an own one has put away', async () => {
  const own = (quota: string) => checked(`downstreams:\n  a: { profile: openai-tier-1, quota: ${quota} }\n`);
  expect(await own('3500/minute')).toContain(
    '  warning: a: profile openai-tier-1 also has 500000 tokens/minute, which your own quota has put away; name them in it if they hold',
  );
  expect((await own('[3500/minute, 1000000 tokens/minute]')).join('\n')).not.toContain('put away');
});

test('check tells of a host that two downstreams claim, in whatever spelling', async () => {
  const said = await checked(
    'downstreams:\n  a: { profile: openai-tier-1 }\n  b: { hosts: [API.openai.com:443] }\n  c: { hosts: ["*.openai.com"] }\n',
  );
  expect(said.filter((line) => line.includes('claimed'))).toEqual([]);
  const twice = await checked('downstreams:\n  a: { profile: openai-tier-1 }\n  b: { hosts: [API.openai.com] }\n');
  expect(twice).toContain(
    '  warning: host api.openai.com is claimed by a and b: HTTP adapters refuse its requests; leave it to one of them (hosts: [] in the other)',
  );
});
