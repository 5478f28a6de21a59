import { describe, expect, it } from 'vitest';
import { turnOf } from '../../src/testing/macrotask.ts';

async function settlesWithin(turn: () => Promise<void>): Promise<boolean> {
  let isSettled = false;
  void (async () => {
    for (let hop = 0; hop < 1_000; hop += 1) await undefined;
    isSettled = true;
  })();
  await turn();
  return isSettled;
}

describe('turnOf', () => {
  it('waits for whole promise chains, with either part of the host', async () => {
    expect(await settlesWithin(turnOf({ setImmediate }))).toBe(true);
    expect(await settlesWithin(turnOf({ MessageChannel }))).toBe(true);
  });

  it('the check itself fails for a single microtask', async () => {
    expect(await settlesWithin(() => Promise.resolve())).toBe(false);
  });

  it('says what is missing where neither exists', () => {
    expect(() => turnOf({})).toThrow('neither setImmediate nor MessageChannel');
  });
});
