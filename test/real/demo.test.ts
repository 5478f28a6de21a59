import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';

type Demo = ChildProcessByStdio<null, Readable, Readable>;
let running: Demo | undefined;

function demo(...options: string[]): Demo {
  const env: NodeJS.ProcessEnv = { ...process.env, CI: 'true' };
  delete env.FORCE_COLOR;
  running = spawn(process.execPath, ['--import', 'tsx', 'demo/main.ts', ...options], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return running;
}

afterEach(() => running?.kill('SIGKILL'));

describe('the demo', () => {
  test('--json: one object on stdout, both scenes in it, every paced ticket answered', async () => {
    const child = demo('--json', '--calls', '70');
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('Penstock: 70 of 70 done')]);
    const results = JSON.parse(stdout);
    const [bare, ...paced] = results.firstScene.contestants;
    expect(bare.requests).toBeGreaterThanOrEqual(70);
    expect(paced.map((row: { name: string }) => row.name)).toEqual(['Bottleneck 2.19.5', 'Penstock']);
    for (const row of paced) expect(row.tickets).toEqual({ asked: 70, answered: 70 });
    expect(results.waitTrace.map((span: { name: string }) => span.name)).toEqual([
      'execute_tool get_delivery_status',
      'downstream.wait',
      'GET',
    ]);
    const { tickets, throttled, alerts } = results.secondScene;
    expect(tickets.answered).toBe(tickets.asked);
    expect(alerts).toHaveLength(throttled.agents);
    expect(results.closing).toHaveLength(2);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s leaves nothing running, and a pipe gets no colours', async (signal, code) => {
    const child = demo();
    const shown = text(child.stdout);
    await once(child.stderr, 'data');
    child.kill(signal);
    // `close` waits for every holder of the pipes: the carrier's process is one of them.
    expect(await once(child, 'close')).toEqual([code, null]);
    expect(await shown).toContain('One quota, three ways');
    expect(await shown).not.toContain('\u001b');
  });

  test('a wrong option is answered with what was expected', async () => {
    const child = demo('--calls', 'many');
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect([code, stderr]).toEqual([2, '--calls: expected a whole number from 10 to 1200, found many\n']);
  });
});
