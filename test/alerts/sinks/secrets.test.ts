import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { sinksOf } from '../../../src/alerts/sinks/make.ts';
import { alertmanagerSink, otelSink, pagerDutySink, slackSink, webhookSink } from '../../../src/alerts.ts';
import { createDispatcher } from '../../../src/index.ts';
import { resolvePolicy } from '../../../src/policy/resolve.ts';
import { alertOf, receiver, signal } from './support.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-secrets-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  vi.restoreAllMocks();
});

describe('a secret', () => {
  test('is read anew for each delivery: what was exchanged is used at once', async () => {
    const { url, got } = await receiver();
    const file = join(folder, 'token');
    writeFileSync(file, 'one\n');
    const sink = webhookSink({ url, authorizationFrom: `file:${file}` });
    await sink.deliver(alertOf(), signal());
    writeFileSync(file, '\uFEFFtwo\r\n');
    await sink.deliver(alertOf(), signal());
    expect(got.map(({ request }) => request.headers.authorization)).toEqual(['one', 'two']);
    rmSync(file);
    await expect(sink.deliver(alertOf(), signal())).rejects.toMatchObject({
      isRetryable: true,
      message: `there is no file ${file}`,
    });
  });

  test('may be given by a function, whose failure is not repeated', async () => {
    const { url, got } = await receiver();
    let give = (): string | Promise<string> => Promise.resolve(`${url}/hook `);
    const sink = slackSink({ webhookFrom: () => give() });
    await sink.deliver(alertOf(), signal());
    expect(got[0]?.request.url).toBe('/hook');
    give = () => {
      throw new Error('marked');
    };
    await expect(sink.deliver(alertOf(), signal())).rejects.toThrow(/^the function that gives a secret gave none$/);
    give = () => 'marked';
    await expect(sink.deliver(alertOf(), signal())).rejects.toThrow(/^a secret holds no http or https address$/);
  });

  test.each([
    ['slack', () => slackSink({ webhookFrom: 'HOOK' }, { env: { HOOK: 'marked' } })],
    ['slack without any', () => slackSink({} as never, { env: {} })],
    ['pagerduty', () => pagerDutySink({ routingKeyFrom: 'marked-key-marked' }, { env: {} })],
    ['alertmanager', () => alertmanagerSink({ url: 'http://x?token=marked' }, { env: {} })],
    ['an inherited name', () => slackSink({ webhookFrom: '__PROTO__' }, { env: {} })],
  ])('that is wrong is refused when the sink is made, and not repeated: %s', (_, make) => {
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_POLICY' }));
    expect(make).not.toThrow(/marked/);
  });
});

/** What must be seen nowhere: secrets, addresses, headers, arguments, bodies, messages of errors. */
const MARKS = {
  SLACK_URL: '/services/MARKED-slack-path',
  PD_KEY: 'MARKED-routing-key-0123456789abc',
  SIGNING: 'MARKED-signing-secret',
  HEADER: 'MARKED-header-value',
  PASSWORD: 'MARKED-password',
};

test('nothing that is marked is seen anywhere but at its receiver', async () => {
  const failing = await receiver(({ method, url, headers }, response) => {
    response
      .writeHead(500)
      .end(`Cannot ${method} ${url} ${JSON.stringify(headers)} for ${MARKS.PD_KEY.slice(0, url === '/' ? 99 : 0)}`);
  });
  const taking = await receiver();
  const env: Record<string, string> = {
    ...MARKS,
    SLACK_URL: `${failing.url}${MARKS.SLACK_URL}`,
    HOOK: `${taking.url}/MARKED-hook`,
  };
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const { alerts = [] } = resolvePolicy(
    {
      downstreams: { carrier: {} },
      alerts: [
        'stderr',
        { jsonl: { path: join(folder, 'alerts.jsonl') } },
        { slack: { webhookFrom: 'SLACK_URL' } },
        { pagerduty: { routingKeyFrom: 'PD_KEY', url: failing.url } },
        { webhook: { urlFrom: 'HOOK', signingSecretFrom: 'SIGNING', headersFrom: { 'x-key': 'HEADER' } } },
        { alertmanager: { url: taking.url, username: 'u', passwordFrom: 'PASSWORD' } },
      ],
    },
    { env },
  );
  const seen: unknown[] = [alerts];
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => seen.push(text) > 0);
  const onAnswer = (answer: unknown) => void seen.push(answer);
  const sinks = [...sinksOf(alerts, { env, onAnswer }), otelSink({ tracerProvider })];
  const dispatcher = createDispatcher(
    { downstreams: { carrier: { quota: '60/minute', runbook: 'https://wiki.example' } } },
    {
      env: { NODE_ENV: 'test' },
      alertSinks: sinks,
      onAlert: (alert) => seen.push(alert),
      telemetry: { tracerProvider },
    },
  );
  dispatcher.subscribe((event) => seen.push(event));
  const response = new Response('MARKED-body', {
    status: 429,
    headers: { 'retry-after': '1', 'x-marked': 'MARKED-answer-header' },
  });
  Object.defineProperty(response, 'url', { value: 'https://carrier.example/MARKED-url?key=MARKED' });
  await dispatcher.callDownstream('carrier', () => response, { tool: 'get_status', runId: 'run-1' });
  const thrown = Object.assign(new Error('MARKED-message'), {
    status: 429,
    config: { url: 'MARKED-config', data: 'MARKED-argument' },
  });
  await expect(
    dispatcher.callDownstream('carrier', () => Promise.reject(thrown), { deadline: new Date(Date.now() + 20_000) }),
  ).rejects.toBe(thrown);
  await dispatcher.flush();
  await vi.waitFor(() => expect([failing.got.length, taking.got.length].every((count) => count >= 2)).toBe(true));
  seen.push(
    dispatcher.snapshot(),
    dispatcher,
    sinks,
    exporter.getFinishedSpans().map(({ name, attributes, status, events }) => ({ name, attributes, status, events })),
  );
  seen.push(await dispatcher.close());
  stderr.mockRestore();
  // What receivers got, but for the places where the secret belongs.
  for (const { body } of [...failing.got, ...taking.got]) seen.push(body.replace(JSON.stringify(MARKS.PD_KEY), ''));
  seen.push(readFileSync(join(folder, 'alerts.jsonl'), 'utf8'));
  const text = seen
    .map((each) => `${inspect(each, { depth: 12, showHidden: true })}\n${JSON.stringify(each) ?? ''}`)
    .join('\n');
  expect(text).toContain('QuotaModelWrong');
  expect(text).toContain('downstream.alert');
  expect(text.match(/.{0,60}MARKED.{0,60}/gi) ?? []).toEqual([]);
});
