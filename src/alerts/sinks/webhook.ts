import type { Alert } from '../../base/alert.ts';
import { headerProblem } from '../../base/labels.ts';
import type { WebhookSinkOptions } from '../../base/sink-options.ts';
import type { PacedSink } from '../sink.ts';
import { clockOf, common, type SinkHost } from './host.ts';
import { post } from './post.ts';
import { headerRule, type Secret, SinkOptions, urlRule } from './secret.ts';
import { oneLine } from './words.ts';

/** An event in the JSON format of CloudEvents 1.0, with the alert as its data. */
export interface AlertEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: 'dev.penstock.alert.firing' | 'dev.penstock.alert.resolved';
  readonly subject?: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly traceparent?: string;
  readonly data: Alert;
}

/** A source may be any URI-reference; this one is a path of the service and the process. */
export function cloudEvent(alert: Alert): AlertEvent {
  const { service = '-', instance } = alert.origin;
  const subject = oneLine(alert.downstream, 256);
  return {
    specversion: '1.0',
    id: alert.id,
    source: `/penstock/${pathPart(service)}/${pathPart(instance)}`,
    type: `dev.penstock.alert.${alert.status}`,
    // An attribute may not be an empty text.
    ...(subject === '' ? {} : { subject }),
    time: alert.at,
    datacontenttype: 'application/json',
    ...traceparent(alert),
    data: alert,
  };
}

function pathPart(text: string): string {
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/g, '')) || '-';
}

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/;

/** Of the call that was throttled. Flagged as sampled: whether it was is not known, and the id is there to be looked up. */
function traceparent({ traceId, spanId }: Alert): { readonly traceparent?: string } {
  if (traceId === undefined || spanId === undefined || !TRACE_ID.test(traceId) || !SPAN_ID.test(spanId)) return {};
  return { traceparent: `00-${traceId}-${spanId}-01` };
}

/**
 * Posts each incident as a CloudEvent in structured mode (`application/cloudevents+json`). With
 * `signingSecretFrom` the request is signed as Standard Webhooks are: `webhook-id`, `webhook-timestamp`,
 * `webhook-signature: v1,<base64 of HMAC-SHA256 over id.timestamp.body>`.
 *
 * @throws {PolicyError} with every problem of the options at once.
 */
export function webhookSink(options: WebhookSinkOptions, host: SinkHost = {}): PacedSink {
  const { url, urlFrom, signingSecretFrom, authorizationFrom, headersFrom = {} } = options ?? {};
  const checks = new SinkOptions('webhook', host);
  if ((url === undefined) === (urlFrom === undefined)) {
    checks.complain('url', `expected either url or urlFrom${url === undefined ? '' : ', not both'}`);
  }
  const plain = url === undefined ? '' : checks.address('url', url, 'name it with urlFrom');
  const address: Secret = checks.optionalSecret('urlFrom', urlFrom, urlRule) ?? (async () => plain);
  const signing = checks.optionalSecret('signingSecretFrom', signingSecretFrom, signingRule);
  const headers = new Map<string, Secret>();
  const named = { ...headersFrom, ...(authorizationFrom === undefined ? {} : { authorization: authorizationFrom }) };
  for (const [name, from] of Object.entries(named)) {
    const option = headersFrom[name] === undefined ? 'authorizationFrom' : `headersFrom.${name}`;
    const problem = headerProblem(name);
    if (problem !== undefined) checks.complain(option, problem);
    const secret = checks.optionalSecret(option, from, headerRule);
    if (secret !== undefined) headers.set(name.toLowerCase(), secret);
  }
  checks.done();
  const clock = clockOf(host);
  return {
    ...common('webhook', host),
    deliver: async (alert, signal) => {
      const body = JSON.stringify(cloudEvent(alert));
      const sent: Record<string, string> = {};
      for (const [name, secret] of headers) sent[name] = await secret();
      const secrets = Object.values(sent);
      if (signing !== undefined) {
        const key = await signing();
        secrets.push(key);
        Object.assign(sent, await signature(alert.id, Math.floor(clock.wallNow() / 1_000), body, key));
      }
      const target = await address();
      const contentType = 'application/cloudevents+json; charset=utf-8';
      await post({ url: target, body, headers: sent, contentType, signal, clock, secrets, onAnswer: host.onAnswer });
    },
  };
}

const PREFIX = 'whsec_';

function signingRule(secret: string): string | undefined {
  return keyOf(secret) === undefined ? `begins with ${PREFIX} and is no base64` : undefined;
}

/** The bytes of a signing secret: base64 behind its prefix, else the text itself. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> | undefined {
  if (!secret.startsWith(PREFIX)) return new TextEncoder().encode(secret);
  try {
    const bytes = Uint8Array.from(atob(secret.slice(PREFIX.length)), (char) => char.charCodeAt(0));
    return bytes.length === 0 ? undefined : bytes;
  } catch {
    return undefined;
  }
}

/** The three headers of a signed webhook; `timestamp` in seconds since 1970. Source: standard-webhooks 1.0. */
export async function signature(
  id: string,
  timestamp: number,
  body: string,
  secret: string,
): Promise<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const { subtle } = crypto;
  const key = await subtle.importKey('raw', keyOf(secret)!, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signed = await subtle.sign('HMAC', key, new TextEncoder().encode(`${id}.${timestamp}.${body}`));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(signed)));
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${base64}` };
}
