import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../src/cli/run.ts';

let folder = '';
let base = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-levers-'));
  base = join(folder, 'downstreams.yaml');
  writeFileSync(
    base,
    'defaults:\n  owner: platform\ndownstreams:\n  carrier:\n    quota: 60/minute\n    cooldown: { max: 30s }\n',
  );
  writeFileSync(join(folder, 'downstreams.schema.json'), '{}');
  writeFileSync(join(folder, 'downstreams.staging.json'), '{"downstreams": {"carrier": {"maxConcurrent": 2}}}');
  writeFileSync(
    join(folder, 'downstreams.prod.yaml'),
    'downstreams:\n  carrier: { quota: 120/minute }\n  carier: { source: typo }\n',
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

async function check(args: readonly string[], env: Record<string, string> = {}) {
  let out = '';
  let err = '';
  const io = { env, out: (text: string) => (out += text), err: (text: string) => (err += text) };
  const code = await run(['check', ...args], io);
  return { code, out: out.replaceAll(`${folder}/`, ''), err: err.replaceAll(`${folder}/`, '') };
}

describe('check --env', () => {
  test('shows every value with its origin, aligned', async () => {
    const { code, out } = await check([base, '--env', 'prod'], { PENSTOCK__CARRIER__MAX_WAIT: '20s' });
    expect(code).toBe(0);
    const [sentence, ...rows] = out.split('\n');
    expect(sentence).toMatch(/^carrier: they allow 120 per minute/);
    expect(rows).toContain('  quota                 120/minute  downstreams.prod.yaml:2');
    expect(rows).toContain('  maxWait               20s         PENSTOCK__CARRIER__MAX_WAIT');
    expect(rows).toContain('  cooldown.base         2s          default');
    expect(rows).toContain('  cooldown.max          30s         downstreams.yaml:6');
    expect(rows).toContain('  owner                 platform    downstreams.yaml:2 (defaults)');
    expect(rows).toContain('  warm.for              1m          default');
    expect(rows).toContain('  burst                 12          default');
    expect(out).toContain('warning: carier stands in downstreams.prod.yaml alone, which adds it (is carrier meant?)');
    expect(out).toMatch(
      /downstreams\.yaml \+ downstreams\.prod\.yaml: 2 downstreams, no problems \(policy [0-9a-f]{16}\)\n$/,
    );
  });

  test('prints the same as JSON', async () => {
    const { code, out } = await check(['--json', '--env=staging', base]);
    expect(code).toBe(0);
    const told = JSON.parse(out) as { downstreams: Record<string, Record<string, unknown>>; hash: string };
    const file = { kind: 'file', inDefaults: false };
    expect(told.downstreams.carrier).toMatchObject({
      maxConcurrent: { value: 2, origin: { ...file, file: 'downstreams.staging.json', line: 1 } },
      quota: { value: '60/minute', origin: { ...file, file: 'downstreams.yaml', line: 5 } },
      minInterval: { value: null, origin: { kind: 'default' } },
      owner: { value: 'platform', origin: { ...file, inDefaults: true } },
    });
  });

  test('names the overlays that there are where one is missing', async () => {
    const { code, out, err } = await check([base, '--env', 'prd']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('downstreams.prd.yaml: there is no such file; did you mean prod? There are: prod, staging');
    expect((await check(['--env', 'prod'])).err).toContain('there are no overlays beside the policy');
    expect((await check([base, '--env', '../x'])).code).toBe(1);
  });

  test('names file and line of what is wrong in an overlay', async () => {
    writeFileSync(join(folder, 'downstreams.bad.yaml'), 'downstreams:\n  carrier:\n    maxWiat: 3s\n');
    const { code, err } = await check([base, '--env', 'bad']);
    rmSync(join(folder, 'downstreams.bad.yaml'));
    expect(code).toBe(1);
    expect(err).toContain(
      'downstreams.carrier.maxWiat: unknown option; did you mean maxWait? (downstreams.bad.yaml:3)',
    );
  });

  test('is told apart from what is not understood', async () => {
    expect((await check([base, '--evn', 'prod'])).code).toBe(2);
    expect((await check([base, base])).code).toBe(2);
    expect((await check(['--env'])).code).toBe(2);
    expect((await check(['--help'])).out).toContain('penstock check [file] [--env name] [--json]');
  });
});
