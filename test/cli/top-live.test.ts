import type { EventEmitter } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { run } from '../../src/cli/run.ts';
import { answering, closeAll, serving } from './support/server.ts';
import { badNight } from './support/snapshots.ts';
import { FakeTerminal } from './support/terminal.ts';

afterEach(closeAll);

describe('live', () => {
  function live(url: string, terminal: FakeTerminal, args: readonly string[] = []) {
    return run(['top', '--interval', '100ms', ...args, url], {
      env: { TERM: 'xterm' },
      out: () => undefined,
      err: () => undefined,
      terminal: terminal.terminal,
    });
  }

  test('draws, sorts, turns round, helps, resizes and gives the terminal back', async () => {
    const terminal = new FakeTerminal();
    const running = live(await serving(badNight()), terminal);
    const shows = (text: string | RegExp) => vi.waitFor(() => expect(terminal.written).toMatch(text), 5_000);
    await shows(/! carrier/);
    expect(terminal.isTaken).toBe(true);
    terminal.type('u');
    await shows(/sort: QUEUE/);
    terminal.type('u');
    await shows(/sort: QUEUE reversed/);
    terminal.type('?');
    await shows(/Keys: sort by/);
    terminal.type('x');
    terminal.type(' ');
    await shows(/FROZEN/);
    terminal.resize(60, 20);
    await shows(/sort: QUEUE reversed {2}\?: help/);
    const listeners = process.listenerCount('SIGTERM');
    terminal.type('q');
    expect(await running).toBe(0);
    expect(terminal.isRestored).toBe(true);
    expect(terminal.output.listenerCount('resize')).toBe(0);
    expect(process.listenerCount('SIGTERM')).toBe(listeners - 1);
  });

  test('a process that goes away and comes back', async () => {
    const terminal = new FakeTerminal();
    let isUp = true;
    const url = await answering((request, response) => {
      if (isUp) response.end(JSON.stringify(badNight()));
      else request.socket.destroy();
    });
    const running = live(url, terminal);
    const shows = (text: RegExp) => vi.waitFor(() => expect(terminal.written).toMatch(text), 5_000);
    await shows(/! carrier/);
    isUp = false;
    await shows(/hung up.* What is shown is what/s);
    isUp = true;
    terminal.written = '';
    await vi.waitFor(() => {
      terminal.type('\u000C');
      const last = terminal.written.slice(terminal.written.lastIndexOf('\u001B[2J'));
      expect(last).toContain('! carrier');
      expect(last).not.toContain('hung up');
    }, 5_000);
    terminal.type('\u0003');
    expect(await running).toBe(0);
    expect(terminal.isRestored).toBe(true);
  });

  test.each(['SIGTERM', 'SIGHUP'] as const)('%s gives the terminal back', async (signal) => {
    const terminal = new FakeTerminal();
    const running = live(await serving(badNight()), terminal);
    await vi.waitFor(() => expect(terminal.isTaken).toBe(true), 5_000);
    process.emit(signal, signal);
    expect(await running).toBe(signal === 'SIGTERM' ? 143 : 129);
    expect(terminal.isRestored).toBe(true);
  });

  test('so does an error, before it is printed, and a terminal that ends', async () => {
    const terminal = new FakeTerminal();
    const running = live(await serving(badNight()), terminal);
    await vi.waitFor(() => expect(terminal.isTaken).toBe(true), 5_000);
    (process as EventEmitter).emit('uncaughtExceptionMonitor', new Error('a bug'), 'uncaughtException');
    expect(terminal.isRestored).toBe(true);
    terminal.type('q');
    process.emit('SIGTERM', 'SIGTERM');
    expect(await running).toBe(143);
    const other = new FakeTerminal();
    const second = live(await serving(badNight()), other);
    await vi.waitFor(() => expect(other.isTaken).toBe(true), 5_000);
    other.input.end();
    expect(await second).toBe(0);
    expect(other.isRestored).toBe(true);
  });

  test('colour where the terminal has it, and none where NO_COLOR says so', async () => {
    for (const [env, hasColour] of [
      [{ TERM: 'xterm' }, true],
      [{ TERM: 'xterm', NO_COLOR: '1' }, false],
      [{ TERM: 'dumb' }, false],
    ] as const) {
      const terminal = new FakeTerminal(80, 24, true);
      const io = { env, out: () => undefined, err: () => undefined, terminal: terminal.terminal };
      const running = run(['top', await serving(badNight())], io);
      await vi.waitFor(() => expect(terminal.written).toMatch(/! carrier/), 5_000);
      terminal.type('q');
      await running;
      expect(terminal.written.includes('\u001B[31m')).toBe(hasColour);
    }
  });
});
