import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PolicyError } from '../../src/base/errors.ts';
import { loadPolicy } from '../../src/policy/load.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-levers-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
function file(text: string, ending = 'yaml'): string {
  const path = join(folder, `f${++count}.${ending}`);
  writeFileSync(path, text);
  return path;
}

async function laid(base: string, ...overlays: string[]): Promise<unknown> {
  return loadPolicy([file(base), ...overlays.map((text) => file(text))], { env: {} });
}

async function problems(base: string, ...overlays: string[]): Promise<string[]> {
  const before = count;
  const error = await laid(base, ...overlays).catch((reason: unknown) => reason);
  if (!(error instanceof PolicyError)) throw new Error(`expected a PolicyError, got ${String(error)}`);
  const names = error.problems.map(({ path, message }) => `${path}: ${message}`);
  return names.map((text) =>
    text.replaceAll(`${folder}/f${before + 1}`, 'base').replaceAll(`${folder}/f${before + 2}`, 'prod'),
  );
}

const BASE = `defaults: { maxWait: 30s }
downstreams:
  carrier:
    quota: 60/minute
    cooldown: { base: 2s, max: 30s }
    throttleStatuses: [429, 403]
  mail: { quota: 12/second }
`;

describe('an overlay', () => {
  test('is merged key by key: objects are merged, lists and scalars replaced, null takes out', async () => {
    const overlay = `defaults: { owner: platform }
downstreams:
  carrier: { quota: [120/minute, 3/second], cooldown: { max: 40s, base: null }, throttleStatuses: [429] }
  mail: null
  model: { unlimited: true }
`;
    expect(await laid(BASE, overlay)).toEqual({
      defaults: { maxWait: '30s', owner: 'platform' },
      downstreams: {
        carrier: { quota: ['120/minute', '3/second'], cooldown: { max: '40s' }, throttleStatuses: [429] },
        model: { unlimited: true },
      },
    });
  });

  test('changes parts of a quota, and may stand on another overlay', async () => {
    const base = 'downstreams: { api: { quota: { limit: 60, per: minute, burst: 3 } } }';
    expect(
      await laid(
        base,
        'downstreams: { api: { quota: { limit: 90 } } }',
        'downstreams: { api: { quota: { burst: 2 } } }',
      ),
    ).toEqual({
      downstreams: { api: { quota: { limit: 90, per: 'minute', burst: 2 } } },
    });
  });

  test('that is {} changes nothing; a list of one file is that file; URLs and JSON will do', async () => {
    const base = await laid(BASE);
    expect(await laid(BASE, '{}')).toEqual(base);
    expect(await loadPolicy([pathToFileURL(file(BASE)), file('{"defaults": null}', 'json')], { env: {} })).toEqual({
      downstreams: (base as { downstreams: unknown }).downstreams,
    });
  });

  test('is below the environment', async () => {
    const policy = await loadPolicy([file(BASE), file('downstreams: { mail: { maxWait: 10s } }')], {
      env: { PENSTOCK__MAIL__MAX_WAIT: '1s' },
    });
    expect(policy.downstreams.mail).toMatchObject({ maxWait: '1s' });
  });

  test('keeps names that are no words, __proto__ among them', async () => {
    const policy = await laid(
      'downstreams: { "api.v2": { owner: a } }',
      'downstreams: { "api.v2": { source: b }, constructor: {} }',
    );
    expect(policy).toEqual({ downstreams: { 'api.v2': { owner: 'a', source: 'b' }, constructor: {} } });
    expect(await problems(BASE, 'downstreams: { carrier: { __proto__: { quota: 1/second } } }')).toEqual([
      expect.stringContaining('__proto__: unknown option'),
    ]);
  });
});

describe('errors name file and line', () => {
  const rows: [string, string, string[]][] = [
    [
      'of the overlay',
      'downstreams:\n  carrier:\n    quota: 0/minute\n',
      ['downstreams.carrier.quota: %% (prod.yaml:3)'],
    ],
    [
      'of the base, which the overlay has made wrong',
      'defaults:\n  pauseAbove: 10s\n',
      ['defaults.pauseAbove: %% (prod.yaml:2)', 'defaults.pauseAbove: %% (prod.yaml:2)'],
    ],
    [
      'of a blank, which takes nothing out',
      'downstreams:\n  mail:\n',
      ['downstreams.mail: found nothing; write null to take it out, or remove the line (prod.yaml:2)'],
    ],
    [
      'of what is not there to be taken out',
      'downstreams:\n  carrier: { quotas: null }\n',
      ['downstreams.carrier.quotas: there is nothing to take out here; did you mean quota? (prod.yaml:2)'],
    ],
    [
      'of all downstreams taken out',
      'downstreams: null\n',
      ['downstreams: cannot be taken out; take out its downstreams one by one (prod.yaml:1)'],
    ],
    [
      'of an empty overlay',
      '# nothing yet\n',
      ['prod.yaml: there is nothing in this file; write {} for an overlay that changes nothing'],
    ],
    ['of broken YAML', 'downstreams: {', ['prod.yaml: line 1, column 15: %%']],
  ];
  test.each(rows)('%s', async (_what, overlay, expected) => {
    const found = await problems(BASE, overlay);
    expect(found.length).toBe(expected.length);
    for (const [i, text] of found.entries()) {
      const [start = '', end = ''] = expected[i]!.split('%%');
      expect(text.startsWith(start) && text.endsWith(end), text).toBe(true);
    }
  });

  test('of two files at once', async () => {
    const found = await problems('downstreams:\n  a: { maxWait: soon }\n', 'downstreams:\n  b: { maxWiat: 3s }\n');
    expect(found.map((text) => /\(([^()]*)\)$/.exec(text)?.[1])).toEqual(['base.yaml:2', 'prod.yaml:2']);
  });

  test('every file that cannot be read', async () => {
    const error = await loadPolicy(['nowhere.yaml', 'neither.yaml'], { env: {} }).catch((reason: unknown) => reason);
    expect((error as PolicyError).problems.map(({ path }) => path)).toEqual(['nowhere.yaml', 'neither.yaml']);
    await expect(loadPolicy([], { env: {} })).rejects.toThrow(/empty list/);
  });

  test('aliases that are meant to become very many', async () => {
    const levels = [...'bcdefghi'].map(
      (name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(', ')}]`,
    );
    const found = await problems(`a: &a [x]\n${levels.join('\n')}\ndownstreams: {}`);
    expect(found[0]).toContain('alias');
  });
});
