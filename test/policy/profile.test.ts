import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDispatcher, type PolicyError } from '../../src/index.ts';
import { readPolicy } from '../../src/policy/load.ts';
import { originsOf } from '../../src/policy/origins.ts';
import { PROFILE_NAMES, profileOf } from '../../src/policy/profile.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';

const planOf = (options: object, defaults?: object) =>
  resolvePolicy({ downstreams: { x: options }, ...(defaults === undefined ? {} : { defaults }) }).downstreams.get('x')!;
const problemsOf = (policy: object) => {
  try {
    resolvePolicy(policy);
  } catch (error) {
    return (error as PolicyError).problems.map(({ path, message }) => [path, message]);
  }
  return [];
};

describe('a profile', () => {
  test('gives a downstream its values, under its own ones and over the defaults', () => {
    const defaults = { maxConcurrent: 9, maxWait: '7s', cooldown: { base: '1s' } };
    const plan = planOf({ profile: 'polite-host', throttleStatuses: [429, 503] }, defaults);
    expect(plan).toMatchObject({
      profile: 'polite-host',
      maxConcurrent: 1,
      maxWaitMs: 7_000,
      throttleStatuses: [429, 503],
      cooldown: { baseMs: 2_000, maxMs: 60_000 },
    });
  });

  test('part by part: one value of cooldown can be changed alone', () => {
    expect(planOf({ profile: 'polite-host', cooldown: { max: '50s' } }).cooldown).toEqual({
      baseMs: 2_000,
      maxMs: 50_000,
    });
  });

  test('that the defaults name stands under whatever else they say, and a downstream may name another', () => {
    const defaults = { profile: 'polite-host', maxConcurrent: 3 };
    expect(planOf({}, defaults)).toMatchObject({
      profile: 'polite-host',
      maxConcurrent: 3,
      warm: { spacingMs: 1_000 },
    });
    expect(planOf({ profile: 'science-source' }, defaults)).toMatchObject({
      profile: 'science-source',
      maxConcurrent: profileOf('science-source')?.maxConcurrent,
      maxQueueDepth: 8,
    });
  });

  test('says where its quota was read, unless the quota is not its own', () => {
    expect(planOf({ profile: 'polite-host' }).source).toBe('unpublished, a cautious guess (profile polite-host)');
    expect(planOf({ profile: 'polite-host', quota: '3/second' }).source).toBeUndefined();
    expect(planOf({ profile: 'polite-host', quota: '3/second', source: 'a contract' }).source).toBe('a contract');
    expect(planOf({}, { profile: 'polite-host', quota: '3/second' }).source).toBeUndefined();
  });

  test('has no ladder beside a cooldown that doubles, and no burst beside another quota', () => {
    expect(planOf({ profile: 'sec-edgar' }).cooldown.ladderMs).toEqual([600_000]);
    expect(planOf({ profile: 'sec-edgar', cooldown: { base: '1s' } }).cooldown).toEqual({
      baseMs: 1_000,
      maxMs: 60_000,
    });
    expect(planOf({}, { profile: 'sec-edgar', cooldown: { max: '30s' } }).cooldown.ladderMs).toBeUndefined();
  });

  test('that nobody knows is an error that names the nearest', () => {
    expect(problemsOf({ downstreams: { x: { profile: 'polite-hots' } } })).toEqual([
      [
        'downstreams.x.profile',
        'expected the name of a profile, such as arxiv (penstock profiles lists them); found the text "polite-hots"; did you mean polite-host?',
      ],
    ]);
    for (const profile of ['constructor', '__proto__', '']) {
      expect(problemsOf({ downstreams: { x: { profile } } }), profile).toHaveLength(1);
    }
  });

  test('is named where one of its values does not go with those of the downstream', () => {
    const rest = { pauseAbove: '30s' };
    expect(problemsOf({ downstreams: { x: { profile: 'polite-host', ...rest } } })[0]?.[0]).toBe(
      'downstreams.x.pauseAbove',
    );
    const [own] = problemsOf({ downstreams: { x: { profile: 'polite-host', workers: 2 } } });
    expect(own?.[0]).toBe('downstreams.x.profile');
    expect(own?.[1]).toMatch(/^maxConcurrent of profile polite-host: 1 cannot be divided among 2 workers/);
    const [all] = problemsOf({ defaults: { profile: 'polite-host' }, downstreams: { x: { workers: 2 } } });
    expect(all?.[0]).toBe('defaults.profile');
    expect(all?.[1]).toMatch(/^for x: maxConcurrent of profile polite-host: 1 cannot/);
  });

  test('gives way to unlimited', () => {
    expect(planOf({ profile: 'polite-host', unlimited: true })).not.toHaveProperty('maxConcurrent');
  });

  test('can be chosen by the environment, and at run time', () => {
    const env = { PENSTOCK__X__PROFILE: 'science-source' };
    expect(resolvePolicy({ downstreams: { x: {} } }, { env }).downstreams.get('x')?.maxQueueDepth).toBe(8);
    const dispatcher = createDispatcher({ downstreams: {} }, { env: {}, alertSinks: [] });
    dispatcher.register('feed', { profile: 'polite-host' });
    expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ downstream: 'feed', maxConcurrent: 1 });
    expect(dispatcher.apply({ downstreams: { feed: { profile: 'polite-host', maxConcurrent: 2 } } })).toMatchObject([
      { path: 'maxConcurrent', from: 1, to: 2 },
    ]);
  });

  test('is the origin of its values', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'penstock-profile-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'p.yaml');
    writeFileSync(file, 'downstreams:\n  x: { profile: polite-host, cooldown: { max: 50s } }\n');
    const values = originsOf(await readPolicy([file], {})).get('x') ?? [];
    const origins = Object.fromEntries(values.map(({ path, value, origin }) => [path, [value, origin.kind]]));
    expect(origins).toMatchObject({
      profile: ['polite-host', 'file'],
      maxConcurrent: [1, 'profile'],
      'cooldown.max': ['50s', 'file'],
      'cooldown.base': ['2s', 'profile'],
      throttleStatuses: [[403, 429], 'profile'],
      lowerShare: [0.2, 'default'],
    });
  });

  test('is never changed by who uses it', () => {
    const before = JSON.stringify(PROFILE_NAMES.map(profileOf));
    for (const profile of PROFILE_NAMES) planOf({ profile, throttleStatuses: [418], cooldown: { base: '1s' } });
    expect(JSON.stringify(PROFILE_NAMES.map(profileOf))).toBe(before);
    expect(Object.isFrozen(profileOf('polite-host')?.cooldown)).toBe(true);
  });
});
