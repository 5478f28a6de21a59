import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { holdToEnd } from '../../../src/adapters/support/stream.ts';
import { createDispatcher, type DispatcherEvent, type DownstreamPolicyInput } from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';

function rig(model: DownstreamPolicyInput = { maxConcurrent: 1 }) {
  const clock = new ManualClock();
  const dispatcher = createDispatcher({ downstreams: { model } }, { clock, alertSinks: [], env: {} });
  const events: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => events.push(event));
  const settled = () => events.flatMap((event) => (event.type === 'settled' ? [event.outcome] : []));
  const inFlight = () => dispatcher.snapshot().downstreams[0]?.running;
  return { clock, dispatcher, events, settled, inFlight };
}

async function* counted(upTo: number, then?: unknown): AsyncGenerator<number> {
  for (let i = 1; i <= upTo; i++) yield i;
  if (then !== undefined) throw then;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of source) found.push(each);
  return found;
}

const streamOf = (...parts: readonly string[]) =>
  new ReadableStream<string>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });

describe('an AsyncIterable', () => {
  test('keeps its place to its end, and is the same object', async () => {
    const { dispatcher, clock, settled, inFlight } = rig();
    const source = counted(3);
    const got = await holdToEnd(dispatcher, 'model', () => source);
    expect(got).toBe(source);
    let next = 0;
    const second = dispatcher.callDownstream('model', () => ++next);
    await clock.advance(1_000);
    expect([inFlight(), next, settled()]).toEqual([1, 0, []]);
    expect(await all(got)).toEqual([1, 2, 3]);
    await second;
    expect(settled()).toEqual(['success', 'success']);
  });

  test('what it throws reaches the reader as it is, and is judged as if `fn` had thrown it', async () => {
    const { dispatcher, settled, clock } = rig();
    const error = Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '7' } });
    const got = await holdToEnd(dispatcher, 'model', async () => counted(1, error));
    await expect(all(got)).rejects.toBe(error);
    await clock.advance(0);
    expect(settled()).toEqual(['throttled']);
    expect(dispatcher.forecast('model').firstStartInMs).toBeGreaterThan(6_900);
  });

  test('closed early, by break or return, it gives its place back, and its own finally has run', async () => {
    const { dispatcher, settled, clock } = rig();
    let closed = 0;
    async function* source() {
      try {
        yield 1;
        yield 2;
      } finally {
        closed++;
      }
    }
    for await (const _ of await holdToEnd(dispatcher, 'model', source)) break;
    await (await holdToEnd(dispatcher, 'model', source)).return(undefined);
    await clock.advance(0);
    expect([closed, settled()]).toEqual([1, ['success', 'success']]);
  });

  test('an object that makes iterators keeps its class, its methods and its private fields', async () => {
    const { dispatcher, settled, clock } = rig();
    class Answer {
      #parts = ['a', 'b'];
      get count() {
        return this.#parts.length;
      }
      async *[Symbol.asyncIterator]() {
        yield* this.#parts;
      }
    }
    const made = new Answer();
    const got = await holdToEnd(dispatcher, 'model', () => made);
    expect([got === made, got.count, await all(got)]).toEqual([true, 2, ['a', 'b']]);
    await clock.advance(0);
    expect(settled()).toEqual(['success']);
    const frozen = await holdToEnd(dispatcher, 'model', () =>
      Object.freeze({ [Symbol.asyncIterator]: () => counted(2) }),
    );
    expect(await all(frozen)).toEqual([1, 2]);
    await clock.advance(0);
    expect(settled()).toEqual(['success', 'success']);
  });

  test('at the deadline a read that hangs rejects, and the source is closed', async () => {
    const { dispatcher, clock, inFlight } = rig();
    let closed = false;
    const source: AsyncIterableIterator<number> = {
      next: () => new Promise(() => undefined),
      return: async () => {
        closed = true;
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
    const got = await holdToEnd(dispatcher, 'model', () => source, { deadline: clock.wallNow() + 5_000 });
    const read = got.next().catch((error) => error.code);
    await clock.advance(5_000);
    expect([await read, closed, inFlight()]).toEqual(['DEADLINE_EXCEEDED', true, 0]);
    await expect(got.next()).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  test('the signal of its caller ends it with its own reason', async () => {
    const { dispatcher, clock } = rig();
    const abort = new AbortController();
    const got = await holdToEnd(dispatcher, 'model', () => counted(2), { signal: abort.signal });
    abort.abort('enough');
    await clock.advance(0);
    await expect(got.next()).rejects.toBe('enough');
  });

  test('nobody reads it: the place comes back after a time, with an event', async () => {
    const { dispatcher, clock, events, inFlight } = rig();
    const got = await holdToEnd(dispatcher, 'model', () => counted(2), {}, { unreadAfterMs: 5_000 });
    await clock.advance(4_999);
    expect(inFlight()).toBe(1);
    await clock.advance(1);
    expect(inFlight()).toBe(0);
    expect(events.filter(({ type }) => type === 'body-unread')).toMatchObject([
      {
        downstream: 'model',
        detail: expect.stringMatching(/^Nobody has read an answer for 5 s; its place was given back/),
      },
    ]);
    expect(await all(got)).toEqual([1, 2]);
  });

  test('one that is being read slowly is not unread', async () => {
    const { dispatcher, clock, inFlight } = rig();
    const got = await holdToEnd(dispatcher, 'model', () => counted(2), {}, { unreadAfterMs: 5_000 });
    await got.next();
    await clock.advance(60_000);
    expect(inFlight()).toBe(1);
    expect(await all(got)).toEqual([2]);
    await clock.advance(0);
    expect([inFlight(), clock.pendingTimers]).toEqual([0, 0]);
  });
});

describe('other streams', () => {
  test('a ReadableStream: the same object, however it is read', async () => {
    const { dispatcher, settled, inFlight } = rig({});
    const readers: Readonly<Record<string, (stream: ReadableStream<string>) => Promise<unknown>>> = {
      iterated: (stream) => all(stream),
      reader: async (stream) => {
        const reader = stream.getReader();
        while (!(await reader.read()).done);
      },
      piped: (stream) => stream.pipeTo(new WritableStream()),
      cancelled: (stream) => stream.cancel(),
      teed: async (stream) => {
        const [one, two] = stream.tee();
        await Promise.all([all(one), two.cancel()]);
      },
    };
    for (const read of Object.values(readers)) {
      const stream = streamOf('a', 'b');
      const got = await holdToEnd(dispatcher, 'model', () => stream);
      expect([got === stream, inFlight()]).toEqual([true, 1]);
      await read(got);
      await turn();
      expect(inFlight()).toBe(0);
    }
    expect(settled()).toEqual(Object.keys(readers).map(() => 'success'));
  });

  test('a ReadableStream that fails: judged', async () => {
    const { dispatcher, settled } = rig({});
    const error = Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '7' } });
    const stream = new ReadableStream({ pull: (controller) => controller.error(error) });
    await expect(all(await holdToEnd(dispatcher, 'model', () => stream))).rejects.toBe(error);
    await turn();
    expect(settled()).toEqual(['throttled']);
  });

  test('a Node stream: read, destroyed, failed', async () => {
    const { dispatcher, settled } = rig({});
    const made = () => holdToEnd(dispatcher, 'model', () => Readable.from(['a', 'b']));
    expect(await all(await made())).toEqual(['a', 'b']);
    (await made()).destroy();
    (await made()).destroy(new Error('broken'));
    await turn();
    expect(settled()).toEqual(['success', 'success', 'failed']);
  });

  test('what is no stream, and what is thrown, goes the way of any call', async () => {
    const { dispatcher, settled } = rig({});
    expect(await holdToEnd(dispatcher, 'model', () => [1, 2])).toEqual([1, 2]);
    expect(await holdToEnd(dispatcher, 'model', async () => 'text')).toBe('text');
    const broken = () => {
      throw new RangeError('broken');
    };
    await expect(holdToEnd(dispatcher, 'model', broken)).rejects.toThrow(RangeError);
    expect(settled()).toEqual(['success', 'success', 'failed']);
  });
});

describe('an answer with a body', () => {
  test('the lane hears its headers when they come, and not once more when its body ends', async () => {
    const { dispatcher, clock } = rig({ quota: '1000/minute' });
    const headers = { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '20' };
    const got = await holdToEnd(dispatcher, 'model', () => new Response(streamOf('a'), { headers }));
    const wait = () => Math.round(dispatcher.forecast('model').firstStartInMs / 1_000);
    expect(wait()).toBe(20);
    await clock.advance(19_000);
    await got.text().catch(() => undefined);
    await clock.advance(2_000);
    expect(wait()).toBe(0);
  });

  test('an error is learned at once', async () => {
    const { dispatcher, settled } = rig({});
    await holdToEnd(dispatcher, 'model', () => new Response('no', { status: 500 }));
    await holdToEnd(dispatcher, 'model', () => new Response('no', { status: 429 }));
    expect(settled()).toEqual(['failed', 'throttled']);
  });

  test('a classifier is not asked about an end', async () => {
    const asked: unknown[] = [];
    const clock = new ManualClock();
    const dispatcher = createDispatcher(
      { downstreams: { model: {} } },
      { clock, alertSinks: [], env: {}, classify: { model: ({ value }) => void asked.push(value) } },
    );
    const response = new Response('text');
    await (await holdToEnd(dispatcher, 'model', () => response)).text();
    await turn();
    expect(asked).toEqual([response]);
  });
});
