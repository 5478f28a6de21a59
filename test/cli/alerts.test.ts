import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../../src/cli/run.ts';

let folder = '';
let status = 200;
let answer = 'ok';
let got: { url: string | undefined; body: string }[] = [];
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (part) => (body += part));
  request.on('end', () => {
    got.push({ url: request.url, body });
    response.writeHead(status).end(answer);
  });
});
let url = '';
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-test-alerts-'));
  [status, answer, got] = [200, 'ok', []];
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function penstock(args: readonly string[], policy: string, env: Record<string, string> = {}) {
  const file = join(folder, 'policy.yaml');
  writeFileSync(file, `downstreams: { carrier: {} }\n${policy}`);
  let out = '';
  let err = '';
  const io = { env, out: (text: string) => (out += text), err: (text: string) => (err += text) };
  const code = await run(['alerts', ...args, '--file', file], io);
  return { code, out: out.replace(/\(\d+ ms\)/g, '(N ms)'), err };
}

test('every sink is tried, whatever it filters, and says what was answered; one that fails fails all', async () => {
  const policy = `alerts:
  - jsonl: { path: ${folder}/alerts.jsonl, only: { severity: critical } }
  - slack: { webhookFrom: HOOK, name: night }
  - alertmanager: { url: "${url}" }
  - pagerduty: { routingKeyFrom: MISSING_KEY }
  - otel
`;
  const { code, out, err } = await penstock(['test'], policy, { HOOK: `${url}/marked` });
  expect(out).toBe(`jsonl: ok (N ms)
night (slack): ok; the receiver answered 200 ok (N ms)
alertmanager: ok; the receiver answered 200 ok (N ms)
pagerduty: failed; the environment variable MISSING_KEY is not set (N ms)
otel: ok (N ms)
`);
  expect([code, err]).toEqual([1, '']);
  expect(JSON.parse(readFileSync(join(folder, 'alerts.jsonl'), 'utf8'))).toMatchObject({
    name: 'QuotaModelWrong',
    severity: 'info',
    downstream: 'TEST',
    explanation: expect.stringMatching(/^TEST: this is a test alert/),
  });
  for (const { body } of got) expect(body).toContain('TEST');
  expect(JSON.parse(got[1]!.body)[0].labels).toMatchObject({ severity: 'info', test: 'true' });
});

test('PagerDuty is triggered and resolved', async () => {
  [status, answer] = [202, '{"status":"success"}'];
  const env = { PD_KEY: 'markedmarkedmarked' };
  const policy = `alerts: [ pagerduty: { routingKeyFrom: PD_KEY, url: "${url}" }, stderr ]\n`;
  const { code, out } = await penstock(['test', 'pagerduty'], policy, env);
  expect([code, out]).toEqual([0, 'pagerduty: ok; the receiver answered 202 {"status":"success"} (N ms)\n']);
  const events = got.map(({ body }) => JSON.parse(body) as { event_action: string; dedup_key: string });
  expect(events.map(({ event_action }) => event_action)).toEqual(['trigger', 'resolve']);
  expect(events[0]?.dedup_key).toBe(events[1]?.dedup_key);
});

test('a refusal is shown as one line, without the secret that it repeats', async () => {
  [status, answer] = [404, '\n\u001b[31mno hook https://x.example/marked for markedmarked\nsecond line'];
  const env = { HOOK: `${url}/markedpath`, KEY: 'markedmarked' };
  const policy = 'alerts: [ webhook: { urlFrom: HOOK, headersFrom: { x-key: KEY } } ]\n';
  const { code, out, err } = await penstock(['test'], policy, env);
  expect([code, err]).toEqual([1, '']);
  expect(out).toBe('webhook: failed; the receiver answered 404 [31mno hook (an address) for *** (N ms)\n');
});

test('one of a pair that refuses is worth a word', async () => {
  const policy = `alerts: [ alertmanager: { url: ["${url}", "http://127.0.0.1:1"] } ]\n`;
  expect((await penstock(['test'], policy)).code).toBe(1);
});

describe('what was not understood', () => {
  const policy = 'alerts: [ stderr: { name: log } , slack: { webhookFrom: X } ]\n';
  test.each([
    [['test', 'slakc'], 'penstock: no sink "slakc"; did you mean slack?\nTry: penstock help\n'],
    [['test', 'pager'], 'penstock: no sink "pager"; there are log, slack\nTry: penstock help\n'],
    [['tset'], 'penstock: alerts takes: test [sink] [--file policy]\nTry: penstock help\n'],
    [[], 'penstock: alerts takes: test [sink] [--file policy]\nTry: penstock help\n'],
  ])('%j', async (args, expected) => {
    expect(await penstock(args, policy)).toEqual({ code: 2, out: '', err: expected });
  });

  test('--file belongs to alerts', async () => {
    let err = '';
    const io = { env: {}, out: () => undefined, err: (text: string) => (err += text) };
    expect(await run(['types', '--file', 'x'], io)).toBe(2);
    expect(err).toContain('types takes no --file');
  });
});

test('without sinks it says how to have one', async () => {
  const { code, out } = await penstock(['test'], '');
  expect(code).toBe(0);
  expect(out).toContain('no alerts are configured, so that incidents go to stderr');
  expect(out).toContain('- slack: { webhookFrom: SLACK_WEBHOOK_URL }');
  expect((await penstock(['test'], 'alerts: []\n')).out).toContain('alerts is an empty list');
});
