import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createDispatcher } from '../../src/index.ts';
import { type StatusServer, serveStatus } from '../../src/status.ts';

// A real terminal of 80 by 24: `penstock top` in tmux, which is to be installed.

const SOCKET = `penstock-top-${process.pid}`;
const CLI = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');
const WAIT = { timeout: 20_000, interval: 100 };

function tmux(...args: string[]): string {
  return execFileSync('tmux', ['-L', SOCKET, '-f', '/dev/null', ...args], { encoding: 'utf8' });
}

/** What the terminal shows, line by line. */
function pane(): string[] {
  return tmux('capture-pane', '-p').split('\n');
}

const shows = (text: string | RegExp): Promise<void> => vi.waitFor(() => expect(pane().join('\n')).toMatch(text), WAIT);

function agent() {
  const downstreams = {
    carrier: { quota: '60/minute' },
    model: { quota: '500/minute' },
    warehouse: { quota: '250/second', maxConcurrent: 20 },
    'a-downstream-with-a-very-long-name-指名検索': { quota: '1000/day' },
  };
  return createDispatcher({ downstreams }, { env: {}, name: 'checkout-agent', alertSinks: [] });
}

let dispatcher: ReturnType<typeof agent>;
let status: StatusServer;
beforeEach(async () => {
  dispatcher = agent();
  status = await serveStatus(dispatcher, { port: 0 });
  dispatcher.report('carrier', { status: 429, retryAfterMs: 90_000 });
  for (let n = 0; n < 12; n++) void dispatcher.callDownstream('carrier', () => n).catch(() => undefined);
  dispatcher.pause('model', { for: '20m', reason: 'migration of the index' });
  const command = `'${process.execPath}' --import tsx '${CLI}' top ${status.port}`;
  tmux('new-session', '-d', '-x', '80', '-y', '24', `echo BEFORE; ${command}; echo "EXIT $?"; exec sleep 600`);
  await shows(/DOWNSTREAM.*q: quit/s);
});
afterEach(async () => {
  tmux('kill-server');
  await status.close();
  await dispatcher.close({ within: 0 });
});

describe('penstock top in a terminal of 80 columns', () => {
  test('says which downstream is in trouble, why, until when, and what to do', () => {
    const lines = pane();
    expect(lines[0]).toMatch(/^penstock top {2}checkout-agent {2}policy [0-9a-f]{16} +\d\d:\d\d:\d\d$/);
    expect(lines[2]).toBe('  DOWNSTREAM USED/SIZED QUEUE FLIGHT WAIT 50/95% HOLD               429 LAST REF');
    expect(lines[3]).toMatch(/^! carrier +0\/48\/min +12 +0 +- (90|8\d)s retry-after +1 +\d(\.\d)?s +0$/);
    expect(lines[4]).toMatch(/^! model +0\/6\.7\/s +0 +0 +- PAUSED 20m operat… +0 +- +0$/);
    expect(lines[5]).toMatch(/^ {2}a-downstr…/);
    const text = lines.join(' ').replaceAll(/ +/g, ' ');
    expect(text).toMatch(
      /! carrier: nothing starts until \d\d:\d\d:\d\d, (90|8\d) s left: it asked us to wait \(Retry-After\)/,
    );
    expect(text).toMatch(
      /! model: new calls are refused until [\d:]+, [\d.]+ min left: an operator paused it, "migration of the index"/,
    );
    expect(lines[22]).toBe('sort: trouble   n u r w h t: sort  i: reverse  space: freeze  ?: help  q: quit');
  });

  test('keys sort, explain and freeze; another size is another layout', async () => {
    tmux('send-keys', 'n');
    await vi.waitFor(() => expect(pane()[3]).toMatch(/^ {2}a-downstr…/), WAIT);
    tmux('send-keys', '?');
    await shows(/n {2}DOWNSTREAM +the downstream/);
    tmux('send-keys', 'Escape');
    await vi.waitFor(() => expect(pane().join('\n')).not.toContain('Keys: sort by'), WAIT);
    tmux('send-keys', 'Space');
    await shows(/FROZEN/);
    tmux('send-keys', 'Space');
    tmux('resize-window', '-x', '120', '-y', '30');
    await shows(/OLDEST EXPECT FLIGHT/);
    tmux('resize-window', '-x', '60', '-y', '16');
    await vi.waitFor(
      () => expect(pane()[2]).toBe('  DOWNSTREAM USED/SIZED QUEUE WAIT 50/95% HOLD           429'),
      WAIT,
    );
    for (const line of pane()) expect(line.length).toBeLessThanOrEqual(60);
  });

  test.each([['q'], ['C-c']])('%s gives the terminal back as it was', async (key) => {
    tmux('resize-window', '-x', '120', '-y', '30');
    await shows(/OLDEST EXPECT FLIGHT/);
    tmux('send-keys', key);
    await shows(/EXIT 0/);
    expect(pane().filter((line) => line !== '')).toEqual(['BEFORE', 'EXIT 0']);
    expect(tmux('display-message', '-p', '#{cursor_flag} #{alternate_on}').trim()).toBe('1 0');
  });

  test('so does SIGTERM', async () => {
    const shell = tmux('display-message', '-p', '#{pane_pid}').trim();
    const child = execFileSync('ps', ['-o', 'pid=', '--ppid', shell], { encoding: 'utf8' }).trim();
    process.kill(Number(child), 'SIGTERM');
    await shows(/EXIT 143/);
    expect(tmux('display-message', '-p', '#{cursor_flag} #{alternate_on}').trim()).toBe('1 0');
  });

  test('a process that ends is said to have, with what was known last; back again, it goes on', async () => {
    const { port } = status;
    await status.close();
    await shows(/! http:\/\/127\.0\.0\.1:\d+ for \d s: nothing listens there.*\n.*What is shown/);
    expect(pane().join('\n')).toMatch(/! carrier/);
    status = await serveStatus(dispatcher, { port });
    await vi.waitFor(() => expect(pane().join('\n')).not.toContain('nothing listens'), WAIT);
  });
});
