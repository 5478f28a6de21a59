import { afterEach, describe, expect, test } from 'vitest';
import { gateClient } from '../../../src/adapters/mcp.ts';
import { type Connection, inMemory, overHttpStateful, overHttpStateless, overStdio } from './support/connections.ts';
import { rig, said } from './support/rig.ts';
import { answer, BUSY, lookUpServer } from './support/tools.ts';

let open: Connection | undefined;
afterEach(async () => open?.close());

/** What the model reads. */
const TOO_LATE =
  '{"error":{"code":"DEADLINE_EXCEEDED","downstream":"notes","retryable":true,"retry_after_ms":10000,"message":"notes: refused, the call would have to wait 30 s (limited by quota:2/minute) and its deadline allows 20 s. Come back in 10 s."}}';

const lookUp = (id: string) => ({ name: 'look_up', arguments: { id } });

describe.each([
  ['in memory', inMemory],
  ['over stdio', overStdio],
  ['over streamable HTTP, with sessions', overHttpStateful],
  ['over streamable HTTP, without', overHttpStateless],
])('%s', (_, connect) => {
  test('six tools at once over a quota that admits two', async () => {
    open = await connect(lookUpServer);
    const { clock, dispatcher } = rig();
    const client = gateClient(dispatcher, open.client, { downstream: 'notes' });
    await client.listTools();
    const stop = new AbortController();

    const first = client.callTool(lookUp('T-1'));
    const throttled = client.callTool(lookUp('busy'));
    const soon = client.callTool(lookUp('T-3'), undefined, { timeout: 20_000 });
    const aborted = client.callTool(lookUp('T-4'), undefined, { signal: stop.signal, timeout: 300_000 });
    const fifth = client.callTool(lookUp('T-5'), undefined, { timeout: 300_000 });
    const sixth = client.callTool(lookUp('T-6'));

    expect(await first).toEqual(answer('T-1'));
    expect(await throttled).toEqual(BUSY);
    expect(await soon).toEqual({
      isError: true,
      content: [{ type: 'text', text: TOO_LATE }],
      _meta: { 'penstock/error': JSON.parse(TOO_LATE).error },
    });
    const reason = new Error('the user has left');
    stop.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    // The server's word: nothing starts for 90 s, and the sixth was willing to wait for 60.
    expect(said(await sixth)).toEqual({
      error: {
        code: 'DEADLINE_EXCEEDED',
        downstream: 'notes',
        retryable: true,
        retry_after_ms: 30_000,
        message:
          'notes: refused, the call would have to wait 90 s (limited by quota:2/minute) and its deadline allows 60 s. Come back in 30 s.',
      },
    });
    await clock.advance(89_999);
    expect(dispatcher.snapshot().downstreams[0]?.queued).toBe(1);
    await clock.advance(1);
    expect(await fifth).toEqual(answer('T-5'));
  });
});
