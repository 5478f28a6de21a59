import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Alert } from '../../src/base/alert.ts';
import type { DispatcherEvent } from '../../src/base/events.ts';
import { createDispatcher, type Dispatcher } from '../../src/dispatcher.ts';
import type { PolicyInput } from '../../src/policy/input.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { type PolicyWatch, watchPolicy } from '../../src/policy/watch.ts';

let folder = '';
let file = '';
let dispatcher: Dispatcher;
let watch: PolicyWatch | undefined;
let events: DispatcherEvent[] = [];
let alerts: Alert[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-levers-'));
  file = join(folder, 'downstreams.yaml');
});

afterEach(async () => {
  await watch?.close();
  await dispatcher.close({ within: 0 });
  rmSync(folder, { recursive: true });
});

function policy(limit: number, more = ''): string {
  return `downstreams:\n  carrier: { quota: ${limit}/minute }\n${more}`;
}

async function begin(path: string | [string, string] = file, env: Record<string, string> = {}): Promise<void> {
  events = [];
  alerts = [];
  dispatcher = createDispatcher(await loadPolicy(path, { env }), {
    env,
    alertSinks: [],
    onAlert: (alert) => alerts.push(alert),
  });
  dispatcher.subscribe((event) => events.push(event));
  watch = watchPolicy(path, dispatcher);
  await watch.ready;
}

function quota(): string | undefined {
  return dispatcher.snapshot().downstreams[0]?.quotas[0]?.quota;
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** Polls: what the file system tells comes when it comes. */
async function within(ms: number, isSo: () => boolean): Promise<boolean> {
  const until = performance.now() + ms;
  while (!isSo() && performance.now() < until) await sleep(10);
  return isSo();
}

const types = (): string[] => events.map(({ type }) => type);

describe('a file that changes is in force within a second', () => {
  const edits: Record<string, () => void> = {
    'written over': () => writeFileSync(file, policy(120)),
    'renamed over': () => {
      writeFileSync(`${file}.tmp`, policy(120));
      renameSync(`${file}.tmp`, file);
    },
    'deleted and written again': () => {
      unlinkSync(file);
      writeFileSync(file, policy(120));
    },
    'emptied first, as some editors do': () => {
      writeFileSync(file, '');
      setTimeout(() => writeFileSync(file, policy(120)), 120);
    },
  };
  test.each(Object.entries(edits))('%s', async (_how, edit) => {
    writeFileSync(file, policy(60));
    await begin();
    edit();
    expect(await within(1_000, () => quota() === '120/minute')).toBe(true);
    expect(events).toMatchObject([
      { type: 'policy-changed', downstream: 'carrier', hash: dispatcher.snapshot().policyHash },
    ]);
    expect(alerts).toEqual([]);
  });

  test('a ConfigMap, whose directory is swapped, three times over', async () => {
    for (const n of [0, 1, 2, 3]) {
      mkdirSync(join(folder, `..version-${n}`));
      writeFileSync(join(folder, `..version-${n}`, 'downstreams.yaml'), policy(60 + n));
    }
    symlinkSync('..version-0', join(folder, '..data'));
    symlinkSync('..data/downstreams.yaml', file);
    await begin();
    for (const n of [1, 2, 3]) {
      symlinkSync(`..version-${n}`, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
      rmSync(join(folder, `..version-${n - 1}`), { recursive: true });
      expect(await within(1_000, () => quota() === `${60 + n}/minute`)).toBe(true);
    }
    expect(alerts).toEqual([]);
  });

  test('of a base and an overlay, either of them', async () => {
    const overlay = join(folder, 'downstreams.prod.yaml');
    writeFileSync(file, policy(60));
    writeFileSync(overlay, '{}');
    await begin([file, overlay]);
    writeFileSync(overlay, policy(90));
    expect(await within(1_000, () => quota() === '90/minute')).toBe(true);
    writeFileSync(file, policy(70, '  mail: {}\n'));
    expect(await within(1_000, () => dispatcher.names().includes('mail'))).toBe(true);
    expect(quota()).toBe('90/minute');
  });

  test('with the overrides of the environment that the dispatcher has', async () => {
    writeFileSync(file, policy(60));
    await begin(file, { PENSTOCK__CARRIER__MAX_WAIT: '20s' });
    writeFileSync(file, policy(120));
    expect(await within(1_000, () => quota() === '120/minute')).toBe(true);
    expect(events).toMatchObject([
      { changes: expect.not.arrayContaining([expect.objectContaining({ path: 'maxWait' })]) },
    ]);
  });
});

describe('what is not accepted', () => {
  test('changes nothing, is told once, without what was found; correct again, it is over', async () => {
    writeFileSync(file, policy(60));
    await begin();
    const before = dispatcher.snapshot().policyHash;
    writeFileSync(file, policy(60, '  mail: { maxConcurrent: "xoxb-secret-token", maxWiat: 3s }\n'));
    expect(await within(2_000, () => alerts.length > 0)).toBe(true);
    writeFileSync(file, policy(60, '  mail: { maxConcurrent: "xoxb-secret-token", maxWiat: 3s }\n'));
    await sleep(700);
    expect(types()).toEqual(['policy-rejected', 'alert']);
    expect(alerts[0]).toMatchObject({ name: 'PolicyRejected', severity: 'warning', downstream: 'policy' });
    const [rejected] = events;
    expect(rejected).toMatchObject({
      detail: expect.stringContaining('downstreams.mail.maxWiat: unknown option; did you mean maxWait? (line 3)'),
    });
    expect(JSON.stringify([events, alerts])).not.toContain('xoxb');
    expect(dispatcher.snapshot().policyHash).toBe(before);
    writeFileSync(file, policy(61));
    expect(await within(1_000, () => quota() === '61/minute')).toBe(true);
    expect(types()).toEqual(['policy-rejected', 'alert', 'policy-changed']);
  });

  test('a file that is gone is told of, and nothing happens when it comes back as it was', async () => {
    writeFileSync(file, policy(60));
    await begin();
    unlinkSync(file);
    expect(await within(2_000, () => alerts.length > 0)).toBe(true);
    expect(events[0]).toMatchObject({
      type: 'policy-rejected',
      detail: expect.stringContaining('there is no such file'),
    });
    writeFileSync(file, policy(60));
    await sleep(700);
    expect(types()).toEqual(['policy-rejected', 'alert']);
  });

  test('a classifier that there is not', async () => {
    writeFileSync(file, policy(60));
    await begin();
    writeFileSync(file, 'downstreams:\n  carrier: { quota: 61/minute, classify: mine }\n');
    expect(await within(2_000, () => alerts.length > 0)).toBe(true);
    expect(quota()).toBe('60/minute');
  });

  test('half of a file that is being written', async () => {
    writeFileSync(file, policy(60));
    await begin();
    writeFileSync(file, 'downstreams:\n  carrier: { quota: 12');
    await sleep(200);
    writeFileSync(file, policy(120));
    expect(await within(1_000, () => quota() === '120/minute')).toBe(true);
    expect(alerts).toEqual([]);
  });
});

describe('a watch', () => {
  test('changes nothing at first, not even what was registered at run time', async () => {
    writeFileSync(file, policy(60));
    dispatcher = createDispatcher(await loadPolicy(file, { env: {} }), { env: {}, alertSinks: [] });
    dispatcher.register('mail', {});
    watch = watchPolicy(file, dispatcher);
    await watch.ready;
    writeFileSync(file, `# a remark\n${policy(60)}`);
    await sleep(700);
    expect(dispatcher.names()).toEqual(['carrier', 'mail']);
  });

  test('applies at first what was written between the load and the watch', async () => {
    writeFileSync(file, policy(60));
    dispatcher = createDispatcher(await loadPolicy(file, { env: {} }), { env: {}, alertSinks: [] });
    writeFileSync(file, policy(120));
    watch = watchPolicy(file, dispatcher);
    await watch.ready;
    expect(quota()).toBe('120/minute');
  });

  test('follows a file that is edited every 100 ms', async () => {
    writeFileSync(file, policy(60));
    await begin();
    for (let n = 1; n <= 20; n++) {
      writeFileSync(file, policy(60 + n));
      await sleep(100);
    }
    expect(await within(1_000, () => quota() === '80/minute')).toBe(true);
    expect(types().filter((type) => type === 'policy-changed').length).toBeGreaterThan(3);
  });

  test('applies nothing once it is closed, or its dispatcher is', async () => {
    writeFileSync(file, policy(60));
    await begin();
    writeFileSync(file, policy(120));
    await watch!.close();
    await sleep(700);
    expect(quota()).toBe('60/minute');
    watch = watchPolicy(file, dispatcher);
    await dispatcher.close({ within: 0 });
    await watch.ready;
    expect(alerts).toEqual([]);
  });

  test('says what it wants where it is given something else', async () => {
    dispatcher = createDispatcher({ downstreams: {} } as PolicyInput, { alertSinks: [], env: {} });
    const other = { apply: () => [] };
    expect(() => watchPolicy(file, other)).toThrow(/watchPolicy: dispatcher: expected what createDispatcher returns/);
    expect(() => watchPolicy(file, dispatcher, { settle: 'soon' })).toThrow(/settle: expected a duration/);
    watch = watchPolicy(file, { ...dispatcher });
    await watch.ready;
  });

  test('lets the process end', async () => {
    dispatcher = createDispatcher({ downstreams: {} } as PolicyInput, { alertSinks: [], env: {} });
    writeFileSync(file, policy(60));
    const script = join(folder, 'watch.mts');
    const source = resolve('src/index.ts');
    writeFileSync(
      script,
      `import { createDispatcher, loadPolicy, watchPolicy } from ${JSON.stringify(source)};
       const file = ${JSON.stringify(file)};
       const watch = watchPolicy(file, createDispatcher(await loadPolicy(file)));
       const alive = setInterval(() => {}, 1000);
       await watch.ready;
       await new Promise((done) => setTimeout(done, 600));
       clearInterval(alive);
       console.log('last line');`,
    );
    const { stdout } = await promisify(execFile)('npx', ['tsx', script], { timeout: 20_000 });
    expect(stdout).toBe('last line\n');
  });
});
