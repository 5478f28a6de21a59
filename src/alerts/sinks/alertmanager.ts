import type { Alert } from '../../base/alert.ts';
import { labelProblem } from '../../base/labels.ts';
import type { AlertmanagerSinkOptions } from '../../base/sink-options.ts';
import { incidentKey } from '../incidents.ts';
import { isoInstant } from '../instants.ts';
import { DeliveryFailed, type PacedSink } from '../sink.ts';
import { clockOf, common, type SinkHost } from './host.ts';
import { post } from './post.ts';
import { headerRule, type Secret, SinkOptions } from './secret.ts';
import { bounded, headline, oneLine, runbookUrl, suggestionLine } from './words.ts';

/** Alertmanager forgets what it does not hear of: told again this often ... */
const REPEAT_MS = 120_000;
/** ... and over without a further word after this long, should the process be gone: two repeats may be lost. */
const ENDS_AFTER_MS = 300_000;
/** A test is over soon. */
const TEST_ENDS_AFTER_MS = 60_000;
const MOST_AT_ONCE = 64;
const LONGEST_LABEL = 256;
/** Incidents whose labels are remembered; more can only be a leak of names. */
const MOST_REMEMBERED = 2_000;

type Labels = Readonly<Record<string, string>>;

/** An element of what `POST /api/v2/alerts` takes. */
export interface PostableAlert {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly startsAt: string;
  readonly endsAt: string;
}

/**
 * The labels of an alert: what it is known by. Only what every process of an environment says alike; never
 * the service, the process, the run or a count.
 */
export function alertmanagerLabels(alert: Alert, extra: Labels = {}): Labels {
  const { environment } = alert.origin;
  return {
    ...extra,
    alertname: alert.name,
    downstream: oneLine(alert.downstream, LONGEST_LABEL),
    ...(alert.lane === undefined ? {} : { lane: oneLine(alert.lane, LONGEST_LABEL) }),
    severity: alert.severity,
    ...(alert.owner === undefined ? {} : { owner: oneLine(alert.owner, LONGEST_LABEL) }),
    ...(environment === undefined ? {} : { environment: oneLine(environment, LONGEST_LABEL) }),
  };
}

/** One alert as Alertmanager takes it; `now` (epoch milliseconds) is when it is posted. */
export function alertmanagerAlert(
  alert: Alert,
  now: number,
  options: { readonly labels?: Labels | undefined; readonly endsAfterMs?: number } = {},
): PostableAlert {
  const isOver = alert.status === 'resolved';
  const endsAt = isOver ? (alert.endsAt ?? alert.at) : isoInstant(now + (options.endsAfterMs ?? ENDS_AFTER_MS));
  return {
    labels: alertmanagerLabels(alert, options.labels),
    annotations: annotations(alert),
    // It refuses what ends before it starts.
    startsAt: [alert.incident.startedAt, endsAt].sort()[0]!,
    endsAt,
  };
}

function annotations(alert: Alert): Labels {
  const { incident, impact, origin } = alert;
  const url = runbookUrl(alert);
  const all: Record<string, string | undefined> = {
    summary: headline(alert, 500),
    description: bounded(alert.explanation, 8_000),
    suggestion: suggestionLine(alert, 1_000),
    runbook_url: url,
    runbook: url === undefined && alert.runbook !== undefined ? oneLine(alert.runbook, 1_000) : undefined,
    quota_source: alert.source,
    service: origin.service,
    instance: origin.instance,
    incident: incident.id,
    throttles: String(incident.throttles),
    waiting: String(impact.waiting),
    refused: String(impact.refused),
    hypothesis: alert.hypothesis,
    tool: alert.tool,
    run: alert.runId,
    trace_id: alert.traceId,
    policy: origin.policyHash,
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([key, text]) => {
      if (text === undefined || text === '') return [];
      return [[key, key === 'description' ? text : oneLine(text, 1_000)]];
    }),
  );
}

/** What one posting has to say of one incident: itself, and under every set of labels that it was told under before. */
class Told {
  readonly #sets = new Map<string, Map<string, Labels>>();

  /** The alert under its labels now, then under those of before. What was a warning and is critical now is still a warning, until it is over. */
  sets(alert: Alert, labels: Labels): Labels[] {
    const before = this.#sets.get(incidentKey(alert));
    const own = JSON.stringify(labels);
    return [labels, ...[...(before ?? [])].filter(([text]) => text !== own).map(([, set]) => set)];
  }

  /** Once Alertmanager has it. */
  note(alert: Alert, labels: Labels): void {
    const key = incidentKey(alert);
    if (alert.status === 'resolved') {
      this.#sets.delete(key);
      return;
    }
    const sets = this.#sets.get(key) ?? new Map<string, Labels>();
    sets.set(JSON.stringify(labels), labels);
    if (this.#sets.size < MOST_REMEMBERED || this.#sets.has(key)) this.#sets.set(key, sets);
  }
}

/**
 * Posts to the API v2 of one Alertmanager, or of every member of a highly available set. Told again every two
 * minutes while an incident lasts (`repeatMs`), with an end five minutes ahead.
 *
 * @throws {PolicyError} with every problem of the options at once.
 */
export function alertmanagerSink(options: AlertmanagerSinkOptions, host: SinkHost = {}): PacedSink {
  const checks = new SinkOptions('alertmanager', host);
  const { url, username, passwordFrom, bearerFrom } = options ?? {};
  const urls = (typeof url === 'string' ? [url] : (url ?? [])).map((each) =>
    endpoint(checks.address('url', each, 'name passwords and tokens with passwordFrom or bearerFrom'), checks),
  );
  if (urls.length === 0) checks.complain('url', 'missing; expected an address such as http://127.0.0.1:9093');
  if ((username === undefined) !== (passwordFrom === undefined)) {
    checks.complain('username', 'username and passwordFrom belong together');
  }
  if (username !== undefined && bearerFrom !== undefined) {
    checks.complain('bearerFrom', 'expected either a password or a bearer token');
  }
  const password = checks.optionalSecret('passwordFrom', passwordFrom, passwordRule);
  const bearer = checks.optionalSecret('bearerFrom', bearerFrom, headerRule);
  const extra = { ...options?.labels };
  for (const name of Object.keys(extra)) {
    const problem = labelProblem(name);
    if (problem !== undefined) checks.complain(`labels.${name}`, problem);
  }
  checks.done();
  if (host.isTest) extra.test = 'true';
  const clock = clockOf(host);
  const told = new Told();

  const deliverAll = async (alerts: readonly Alert[], signal: AbortSignal): Promise<void> => {
    const now = clock.wallNow();
    const endsAfterMs = host.isTest ? TEST_ENDS_AFTER_MS : ENDS_AFTER_MS;
    const postable = alerts.flatMap((alert) => {
      const one = alertmanagerAlert(alert, now, { labels: extra, endsAfterMs });
      return told.sets(alert, one.labels).map((labels) => ({ ...one, labels }));
    });
    const { authorization, secrets } = await credentials(username, password, bearer);
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const body = JSON.stringify(postable);
    const attempts = await Promise.allSettled(
      urls.map((each) => post({ url: each, body, headers, signal, clock, secrets, onAnswer: host.onAnswer })),
    );
    settle(attempts, alerts.length);
    for (const alert of alerts) told.note(alert, alertmanagerLabels(alert, extra));
  };
  return {
    ...common('alertmanager', host),
    repeatMs: REPEAT_MS,
    mostAtOnce: MOST_AT_ONCE,
    deliver: (alert, signal) => deliverAll([alert], signal),
    deliverAll,
  };
}

/**
 * One that took it is enough, as with Prometheus: a member that was away hears of it with the next repeat.
 * Where none did, it is worth another try if it is with any of them.
 */
function settle(attempts: readonly PromiseSettledResult<void>[], count: number): void {
  const failures = attempts.flatMap((each) => (each.status === 'rejected' ? [each.reason as DeliveryFailed] : []));
  if (failures.length < attempts.length) return;
  const worth = failures.find((each) => each.isRetryable) ?? failures[0]!;
  if (worth.status !== 400 || count === 1) throw worth;
  // It keeps the good ones of a batch all the same: to send them all again would only be refused again.
  throw new DeliveryFailed(`${worth.message}: at least one of ${count} alerts was refused, the others were taken`, {
    isRetryable: false,
    status: 400,
  });
}

function passwordRule(value: string): string | undefined {
  return /\p{Cc}/u.test(value) ? 'holds characters that a password cannot have' : undefined;
}

async function credentials(
  username: string | undefined,
  password: Secret | undefined,
  bearer: Secret | undefined,
): Promise<{ readonly authorization?: string; readonly secrets: readonly string[] }> {
  if (password !== undefined) {
    const word = await password();
    const bytes = new TextEncoder().encode(`${username}:${word}`);
    const base64 = btoa(String.fromCharCode(...bytes));
    return { authorization: `Basic ${base64}`, secrets: [word, base64] };
  }
  if (bearer === undefined) return { secrets: [] };
  const token = await bearer();
  return { authorization: `Bearer ${token}`, secrets: [token] };
}

const API = '/api/v2/alerts';

/** Where to post: the address may have a path of its own (`--web.route-prefix`), or be the whole endpoint. */
function endpoint(url: string, checks: SinkOptions): string {
  if (url === '') return '';
  const parsed = new URL(url);
  const path = parsed.pathname.replace(/\/+$/, '');
  if (/\/api\/v1(\/alerts)?$/.test(path))
    checks.complain('url', 'the API v1 is gone; expected the address without /api/v1/alerts');
  parsed.pathname = `${path.replace(/\/api\/v2(\/alerts)?$/, '')}${API}`;
  return parsed.href;
}
