import { expect, test } from 'vitest';
import { isProfilesModuleInStep, profileFiles } from '../../scripts/profiles.ts';
import { createDispatcher, type DownstreamPolicyInput } from '../../src/index.ts';

const FILES = profileFiles();
/** Two that are no API of anybody's. */
const WITHOUT_HOST = ['polite-host', 'science-source'];
/** What says something of the API, but is no figure. */
const NO_FIGURES: readonly (keyof DownstreamPolicyInput)[] = [
  'hosts',
  'requiresUserAgent',
  'retriesOff',
  'classify',
  'defaultCost',
];

/** Every value that needs a source: `quota`, `quota[1]`, `cooldown.max`. */
function figuresOf(policy: DownstreamPolicyInput): string[] {
  return Object.entries(policy).flatMap(([option, value]): string[] => {
    if (NO_FIGURES.includes(option as keyof DownstreamPolicyInput)) return [];
    if (option === 'quota' && Array.isArray(value)) return value.map((_, at) => `quota[${at}]`);
    if (option === 'cooldown' || option === 'warm')
      return Object.keys(value as object).map((key) => `${option}.${key}`);
    return [option];
  });
}

test('what travels in the core is what the files say (npm run profiles rewrites it)', () => {
  expect(isProfilesModuleInStep()).toBe(true);
});

test('there are profiles for thirty APIs and more', () => {
  expect(FILES.length).toBeGreaterThanOrEqual(34);
});

test.each(FILES)(
  '$name: every value has a source, or is named as unpublished; none has both',
  ({ policy, figures, unpublished }) => {
    const sourced = figures.map(({ path }) => path);
    const stated = figuresOf(policy);
    const isSaid = (path: string, where: readonly string[]) =>
      where.some((each) => each === path || path.startsWith(`${each}.`) || path.startsWith(`${each}[`));
    for (const path of stated) {
      expect([path, isSaid(path, sourced), isSaid(path, unpublished)]).not.toEqual([path, false, false]);
      expect([path, isSaid(path, sourced), isSaid(path, unpublished)]).not.toEqual([path, true, true]);
    }
  },
);

test.each(FILES)(
  '$name: is a policy by itself, with a client whose retries are known and a note',
  ({ name, policy, note }) => {
    const dispatcher = createDispatcher({ downstreams: { [name]: policy } }, { env: {}, alertSinks: [] });
    expect(dispatcher.names()).toEqual([name]);
    expect(policy.retriesOff).toMatch(/\S/);
    expect(note).toMatch(/\.$/m);
    if (WITHOUT_HOST.includes(name)) expect(policy.hosts).toBeUndefined();
    else
      expect(policy.hosts !== undefined || /host/.test(note ?? ''), 'hosts, or a note on why there are none').toBe(
        true,
      );
  },
);

/** One of these is used at a time: which it is, is a matter of the plan, the key or the user. */
const ALTERNATIVES = [
  /^openai-tier-/,
  /^anthropic-/,
  /^gemini-/,
  /^github-(rest|anonymous)$/,
  /^stripe(-test)?$/,
  /^ncbi(-with-key)?$/,
  /^crossref(-polite)?$/,
  /^alpha-vantage(-premium)?$/,
];

test('one host is claimed by one profile, or by alternatives of which each claims it', () => {
  const byHost = new Map<string, string[]>();
  for (const { name, policy } of FILES) {
    for (const host of policy.hosts ?? []) byHost.set(host, [...(byHost.get(host) ?? []), name]);
  }
  for (const [host, names] of byHost) {
    if (names.length === 1) continue;
    const family = ALTERNATIVES.find((each) => names.every((name) => each.test(name)));
    const all = FILES.filter(({ name }) => family?.test(name) === true).map(({ name }) => name);
    expect([host, names]).toEqual([host, all]);
  }
});

test.each(FILES)('$name: its sources are addresses or measurements, none from the future', ({ figures }) => {
  for (const { source, date, read } of figures) {
    expect(source).toMatch(/^https?:\/\/\S+|^measured with /);
    expect(Date.parse(date ?? read ?? '')).toBeLessThanOrEqual(Date.now());
  }
});
