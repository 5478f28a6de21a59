import { afterEach, describe, expect, test } from 'vitest';
import { createFetch, type FetchOptions } from '../../../src/adapters/fetch.ts';
import { alertBlock } from '../../../src/alerts/stderr.ts';
import {
  type Alert,
  createDispatcher,
  type Dispatcher,
  type DispatcherEvent,
  type PolicyInput,
} from '../../../src/index.ts';
import { ManualClock, openDispatcher } from '../../../src/testing.ts';

const made: Dispatcher[] = [];
afterEach(async () => {
  await Promise.all(made.splice(0).map((dispatcher) => dispatcher.close({ within: 0 })));
});

function rig(policy: PolicyInput, options: FetchOptions = {}) {
  const clock = new ManualClock();
  const alerts: Alert[] = [];
  const delivered: Alert[] = [];
  const sink = { name: 'test', deliver: (alert: Alert) => void delivered.push(alert) };
  const dispatcher = createDispatcher(policy, {
    clock,
    env: {},
    alertSinks: [sink],
    onAlert: (alert) => alerts.push(alert),
  });
  made.push(dispatcher);
  const events: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => events.push(event));
  const sent: { url: string; agent: string | null; init: RequestInit | undefined }[] = [];
  let answer = (_: string): Response => new Response('ok');
  const base: FetchOptions['base'] = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    sent.push({ url, agent: headers.get('user-agent'), init });
    return answer(url);
  };
  const gated = createFetch(dispatcher, { base, ...options });
  const started = () => events.filter(({ type }) => type === 'started').map(({ downstream }) => downstream);
  const answers = (how: typeof answer) => {
    answer = how;
  };
  return { clock, dispatcher, alerts, delivered, events, sent, gated, started, answers };
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );
const LIMITED = () => new Response('no', { status: 429, headers: { 'retry-after': '30' } });
const carrier: PolicyInput = { downstreams: { carrier: { hosts: ['api.example.com'] }, other: {} } };

describe('where a request goes', () => {
  test('by host; a host that nobody claims passes', async () => {
    const { gated, started, sent } = rig(carrier);
    for (const host of ['api.example.com', 'nobody.example']) await gated(`https://${host}/`);
    expect([started(), sent.length]).toEqual([['carrier'], 2]);
  });

  test('by lookup, before the hosts', async () => {
    const lookup = (url: URL, init?: RequestInit) =>
      url.pathname === '/free' ? (false as const) : init?.method === 'POST' ? 'other' : undefined;
    const { gated, started, sent } = rig(carrier, { lookup });
    await gated('https://api.example.com/free');
    await gated('https://api.example.com/', { method: 'POST' });
    await gated('https://api.example.com/');
    expect([started(), sent.length]).toEqual([['other', 'carrier'], 3]);
  });

  test('what a lookup must not say, or throws, rejects; nothing is sent', async () => {
    for (const said of ['nobody', 7 as never]) {
      const { gated, sent } = rig(carrier, { lookup: () => said });
      const error = await refusal(gated('https://api.example.com/'));
      expect([error.code, sent]).toEqual([said === 'nobody' ? 'UNKNOWN_DOWNSTREAM' : 'INVALID_CALL', []]);
    }
    const broken = new Error('broken');
    const lookup = () => {
      throw broken;
    };
    expect(await refusal(rig(carrier, { lookup }).gated('https://x.example/'))).toBe(broken);
  });

  test('refuse: the error names the host and what to write', async () => {
    const { gated, sent } = rig(carrier, { unknownHosts: 'refuse' });
    const error = await refusal(gated('https://nobody.example:8443/secret?key=1'));
    expect([error.code, error.message, sent]).toEqual([
      'INVALID_CALL',
      'createFetch: refused, no downstream claims nobody.example:8443. Write hosts: ["nobody.example:8443"] at the downstream that it belongs to, or let unknownHosts be pass or lane-per-host.',
      [],
    ]);
  });

  test('it follows the policy', async () => {
    const { gated, started, dispatcher } = rig(carrier);
    dispatcher.apply({ downstreams: { moved: { hosts: ['api.example.com'] } } });
    await gated('https://api.example.com/');
    expect(started()).toEqual(['moved']);
  });

  test.each([
    [{ unknownHost: 'pass' }, 'createFetch: unknownHost: expected unknownHosts'],
    [
      { unknownHosts: 'block' },
      'createFetch: unknownHosts: expected one of pass, refuse, lane-per-host, found "block"',
    ],
    [{ leaseUntil: 'done' }, 'createFetch: leaseUntil: expected one of headers, body, end'],
    [{ unreadAfter: 'soon' }, 'createFetch: unreadAfter: expected more than 0'],
    [{ lookup: {} }, 'createFetch: lookup: expected a function, found an object'],
    [{ userAgent: '' }, 'createFetch: userAgent: expected a text'],
    [{ userAgent: 'a\nb' }, 'createFetch: userAgent: expected a text that a header can hold'],
  ])('a bad option: %j', (options, message) => {
    expect(() => rig(carrier, options as never)).toThrow(message);
  });

  test('what is no dispatcher, or no options', () => {
    const { dispatcher } = rig(carrier);
    expect(() => createFetch(dispatcher, 'fetch' as never)).toThrow('createFetch: options: expected an object');
    expect(() => createFetch({} as never)).toThrow('createFetch: dispatcher: expected what createDispatcher returns');
  });
});

describe('a lane per host', () => {
  const POLICY: PolicyInput = {
    defaults: { maxConcurrent: 1, maxAccounts: 3, cooldown: { base: '10s' } },
    downstreams: {},
  };
  const lanes = { unknownHosts: 'lane-per-host' } as const;

  test('each authority has a lane of its own, under the defaults, all under one downstream', async () => {
    const { gated, answers, clock, dispatcher, started } = rig(POLICY, lanes);
    let release = () => undefined as void;
    answers(() => new Response('ok'));
    const never = createFetch(dispatcher, {
      ...lanes,
      base: () =>
        new Promise((resolve) => {
          release = () => resolve(new Response(''));
        }),
    });
    const first = never('https://a.example/');
    await clock.advance(0);
    await gated('https://b.example/');
    const second = gated('http://A.example:80/');
    await clock.advance(5_000);
    expect(started()).toEqual(['hosts', 'hosts']);
    release();
    await Promise.all([first, second]);
    const [hosts] = dispatcher.snapshot().downstreams;
    expect(hosts).toMatchObject({ downstream: 'hosts', accounts: 2, totals: { started: 3 } });
  });

  test('lanes are bounded; idle ones are forgotten', async () => {
    const { gated, dispatcher } = rig(POLICY, lanes);
    for (let i = 0; i < 20; i++) await gated(`https://h${i}.example/`);
    expect(dispatcher.snapshot().downstreams[0]?.accounts).toBeLessThanOrEqual(3);
    expect(dispatcher.snapshot().downstreams[0]?.totals.started).toBe(20);
  });

  test('one host that throttles holds back itself alone; each alert says whose it is, and is an incident of its own', async () => {
    const { gated, answers, alerts, delivered, clock, dispatcher, started } = rig(POLICY, lanes);
    answers((url) => (url.includes('c.example') ? new Response('ok') : LIMITED()));
    for (const host of ['a.example', 'b.example:8443', 'c.example']) await gated(`https://${host}/`);
    expect(alerts.map(({ downstream, lane }) => [downstream, lane])).toEqual([
      ['hosts', 'host:a.example'],
      ['hosts', 'host:b.example:8443'],
    ]);
    await clock.advance(0);
    await dispatcher.flush();
    expect(delivered.map(({ lane }) => lane)).toEqual(['host:a.example', 'host:b.example:8443']);
    expect(alertBlock(alerts[0]!)).toMatch(/^penstock \w+ hosts \(a\.example\): QuotaModelWrong/);
    expect(alerts[1]?.explanation).toMatch(/^Penstock holds hosts \(b\.example:8443\) back until/);
    const held = gated('https://a.example/');
    await gated('https://c.example/');
    expect(started()).toHaveLength(4);
    await clock.advance(31_000);
    await held;
  });

  test('an account that is no host is told to nobody', async () => {
    const { gated, answers, alerts } = rig(carrier);
    answers(LIMITED);
    await gated('https://api.example.com/', { penstock: { account: 'sk-secret' } });
    expect([alerts.length, JSON.stringify(alerts)]).toEqual([1, expect.not.stringContaining('sk-secret')]);
    expect(alerts[0]).not.toHaveProperty('lane');
  });

  test('it has the name that is asked for, and comes back after a policy without it', async () => {
    const { gated, dispatcher, started } = rig(POLICY, { ...lanes, hostLanes: 'feeds' });
    await gated('https://a.example/');
    dispatcher.apply({ downstreams: { other: {} } });
    await gated('https://a.example/');
    expect([started(), dispatcher.names()]).toEqual([
      ['feeds', 'feeds'],
      ['other', 'feeds'],
    ]);
  });

  test('what the policy says of it counts', async () => {
    const { gated, events } = rig(
      { downstreams: { hosts: { owner: 'feeds', mode: 'observe', quota: '1/hour' } } },
      lanes,
    );
    await gated('https://a.example/');
    await gated('https://a.example/');
    expect(events.filter(({ type }) => type === 'would-start')).toHaveLength(1);
  });
});

describe('who calls', () => {
  const SEC: PolicyInput = {
    downstreams: {
      sec: { hosts: ['www.sec.example'], requiresUserAgent: 'its fair access rules ask for a name and an address' },
    },
  };

  test('the option names the caller where the request does not', async () => {
    const { gated, sent } = rig(SEC, { userAgent: 'acme ops@acme.example' });
    await gated('https://www.sec.example/');
    await gated('https://www.sec.example/', { headers: { 'User-Agent': 'mine' } });
    await gated(new Request('https://www.sec.example/', { headers: { 'user-agent': 'mine too', 'x-a': '1' } }));
    await gated(new Request('https://www.sec.example/', { headers: { 'x-a': '1' } }));
    await gated('https://nobody.example/');
    expect(sent.map(({ agent }) => agent)).toEqual([
      'acme ops@acme.example',
      'mine',
      'mine too',
      'acme ops@acme.example',
      'acme ops@acme.example',
    ]);
    expect(new Headers(sent[3]?.init?.headers).get('x-a')).toBe('1');
  });

  test('a host that wants to know refuses who does not say it, before any permit', async () => {
    const { gated, sent, events } = rig(SEC);
    for (const headers of [{}, { 'user-agent': ' ' }]) {
      expect(await refusal(gated('https://www.sec.example/', { headers }))).toMatchObject({
        code: 'INVALID_CALL',
        downstream: 'sec',
        message:
          'sec: refused, the request has no User-Agent: its fair access rules ask for a name and an address. Set the header, or the option userAgent of createFetch.',
      });
    }
    expect([sent, events]).toEqual([[], []]);
    await gated('https://www.sec.example/', { headers: { 'user-agent': 'acme' } });
    expect(sent).toHaveLength(1);
  });

  test('where the policy only observes, nothing is refused, whatever a request says', async () => {
    const { gated, sent, dispatcher, started } = rig(SEC);
    dispatcher.setMode('observe');
    await gated('https://www.sec.example/', { headers: { 'x-penstock-deadline': 'soon', 'x-penstock-foo': '1' } });
    await gated('https://www.sec.example/', { penstock: 7 as never });
    expect([sent.length, started()]).toEqual([2, ['sec', 'sec']]);
  });
});

test('a double of a dispatcher does', async () => {
  const dispatcher = openDispatcher();
  const gated = createFetch(dispatcher, { lookup: () => 'carrier', base: async () => new Response('ok') });
  await gated('https://a.example/', { penstock: { tool: 'track' } });
  expect(dispatcher.calls).toMatchObject([{ downstream: 'carrier', ctx: { tool: 'track' } }]);
});
