import { readdirSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PolicyError } from '../../src/base/errors.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { policyJsonSchema } from '../../src/policy/options.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';

const GOOD = 'test/fixtures/policy/good';
const BAD = 'test/fixtures/policy/bad';
const SHIPPED = 'config/downstreams.yaml';
const validate = new Ajv({ allowUnionTypes: true }).compile(policyJsonSchema());

async function refusal(run: () => Promise<unknown>): Promise<PolicyError> {
  const error = await run().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof PolicyError)) throw new Error(`expected a PolicyError, got ${String(error)}`);
  return error;
}

describe('good files', () => {
  const files = [SHIPPED, ...readdirSync(GOOD).map((file) => `${GOOD}/${file}`)];

  test.each(files)('%s loads, is frozen, and resolves again to the same policy', async (file) => {
    const policy = await loadPolicy(file, { env: {} });
    expect(Object.isFrozen(policy)).toBe(true);
    for (const downstream of Object.values(policy.downstreams)) expect(Object.isFrozen(downstream)).toBe(true);
    expect(resolvePolicy(policy).downstreams.size).toBe(Object.keys(policy.downstreams).length);
  });

  test.each(files)('%s is accepted by the JSON Schema', (file) => {
    const value: unknown = parse(readFileSync(file, 'utf8'));
    expect(validate(value), JSON.stringify(validate.errors)).toBe(true);
  });
});

/** Every bad file begins with the problems it must be answered with, one a line. */
describe('bad files are answered with exactly their first lines', () => {
  test.each(readdirSync(BAD))('%s', async (name) => {
    const file = `${BAD}/${name}`;
    const expected = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('#> '))
      .map((line) => line.slice(3));
    const error = await refusal(() => loadPolicy(file, { env: {} }));
    expect(error.problems.map(({ path, message }) => `${path}: ${message}`)).toEqual(expected);
    expect(error.message.split('\n')[0]).toContain(file);
    expect(error.code).toBe('INVALID_POLICY');
  });

  /** Rules that span options, or names, are not the editor's business; what has one wrong value is. */
  const BEYOND_EDITORS =
    /^(alerts-name|alerts-address|burst-(of|too|without)|concurrency-cannot|cooldown-(base|ladder)|cost-(above|missing|of)|downstream-(called|twins)|key-(twice|proto)|pause-|provider-|quota-same|share-|unlimited-|yaml-)/;
  const ofOneValue = readdirSync(BAD).filter((name) => !BEYOND_EDITORS.test(name));

  test.each(ofOneValue)('%s is marked by an editor too', (name) => {
    expect(validate(parse(readFileSync(`${BAD}/${name}`, 'utf8')))).toBe(false);
  });
});

test('a file that does not exist is named', async () => {
  const error = await refusal(() => loadPolicy('nowhere/policy.yaml', { env: {} }));
  expect(error.message).toBe('policy: 1 problem\n  nowhere/policy.yaml: there is no such file');
});

test('a URL is read like its path', async () => {
  const policy = await loadPolicy(pathToFileURL(SHIPPED), { env: {} });
  expect(resolvePolicy(policy).hash).toBe(resolvePolicy(await loadPolicy(SHIPPED, { env: {} })).hash);
});

test('the environment is in place after loading, and applying it again changes nothing', async () => {
  const env = { PENSTOCK__CARRIER__MAX_WAIT: '20s', PENSTOCK__DEFAULTS__WORKERS: '2' };
  const policy = await loadPolicy(SHIPPED, { env });
  expect(policy.downstreams.carrier?.maxWait).toBe('20s');
  expect(resolvePolicy(policy, { env }).hash).toBe(resolvePolicy(policy).hash);
  expect(resolvePolicy(policy).downstreams.get('carrier')).toMatchObject({ maxWaitMs: 20_000, workers: 2 });
});

test('the JSON Schema that ships is the one the options make', () => {
  const shipped = readFileSync('config/downstreams.schema.json', 'utf8');
  expect(JSON.parse(shipped), 'stale: run `penstock schema > config/downstreams.schema.json`').toEqual(
    JSON.parse(JSON.stringify(policyJsonSchema())),
  );
});

test('the file that ships tells editors where its schema is', () => {
  expect(readFileSync(SHIPPED, 'utf8').split('\n')[0]).toBe(
    '# yaml-language-server: $schema=./downstreams.schema.json',
  );
});
