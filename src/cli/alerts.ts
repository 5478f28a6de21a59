import { DeliveryFailed } from '../alerts/sink.ts';
import type { Answer } from '../alerts/sinks/host.ts';
import { sinkOf } from '../alerts/sinks/make.ts';
import type { Alert } from '../base/alert.ts';
import { PolicyError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { SinkPlan } from '../base/plan.ts';
import { originOf } from '../origin.ts';
import { loadPolicy } from '../policy/load.ts';
import { resolvePolicy } from '../policy/resolve.ts';
import type { Io } from './io.ts';

/** A receiver that takes longer than an alert may take has not taken it. */
const ATTEMPT_MS = 10_000;

/** The kinds that keep an incident open until they hear of its end. In Alertmanager the test ends by itself, late enough to be routed. */
const HEARS_ENDS: ReadonlySet<string> = new Set(['pagerduty']);

/**
 * Sends a test alert to every sink of a policy, or to the one that is named, whatever their filters say, and
 * prints what each receiver answered. Resolves to whether all took it; to a text where the name is unknown.
 */
export async function testAlerts(file: string, wanted: string | undefined, io: Io): Promise<boolean | string> {
  const { alerts, hash } = resolvePolicy(await loadPolicy(file, { env: io.env }), { env: io.env });
  if (alerts === undefined || alerts.length === 0) {
    io.out(
      `${file}: ${alerts === undefined ? NO_ALERTS : 'alerts is an empty list, so that nobody is told of incidents'}\n`,
    );
    if (wanted === undefined) return true;
  }
  const known: readonly SinkPlan[] = alerts ?? [];
  const chosen = wanted === undefined ? known : known.filter(({ name }) => name === wanted);
  if (wanted !== undefined && chosen.length === 0) {
    if (known.length === 0) return `no sink "${plain(wanted)}"`;
    const names = known.map(({ name }) => name);
    const near = nearest(wanted, names);
    return `no sink "${plain(wanted)}"; ${near === undefined ? `there are ${names.join(', ')}` : `did you mean ${near}?`}`;
  }
  let isFine = true;
  for (const plan of chosen) {
    const { line, took } = await trySink(plan, hash, io);
    io.out(`${line}\n`);
    isFine &&= took;
  }
  return isFine;
}

const NO_ALERTS = `no alerts are configured, so that incidents go to stderr. For another sink, write

alerts:
  - slack: { webhookFrom: SLACK_WEBHOOK_URL }
  - alertmanager: { url: http://127.0.0.1:9093 }

at the top of the policy`;

interface Tried {
  readonly line: string;
  readonly took: boolean;
}

async function trySink(plan: SinkPlan, hash: string, io: Io): Promise<Tried> {
  const answers: Answer[] = [];
  const startedAt = performance.now();
  const failure = await attempt(plan, testAlertsOf(plan, hash, io), io, (answer) => answers.push(answer));
  const tookMs = Math.round(performance.now() - startedAt);
  // One member of a pair that refuses is worth a word, although the other has taken it.
  const refusals = answers.filter(({ status = 0 }) => status < 200 || status >= 300);
  const took = failure === undefined && refusals.length === 0;
  const said = answers.map(({ status, line }) =>
    status === undefined ? line : `the receiver answered ${status}${line === '' ? '' : ` ${line}`}`,
  );
  const result = [
    took ? 'ok' : 'failed',
    ...new Set(said),
    ...(failure === undefined || answers.length > 0 ? [] : [failure]),
  ];
  const title = plan.name === plan.kind ? plan.name : `${plan.name} (${plan.kind})`;
  return { line: `${title}: ${result.join('; ')} (${tookMs} ms)`, took };
}

/** Undefined where it worked; else what is wrong, without addresses and secrets. */
async function attempt(
  plan: SinkPlan,
  alerts: readonly Alert[],
  io: Io,
  onAnswer: (answer: Answer) => void,
): Promise<string | undefined> {
  const overdue = AbortSignal.timeout(ATTEMPT_MS);
  try {
    const sink = sinkOf(plan, { env: io.env, where: plan.kind, isTest: true, onAnswer });
    for (const alert of alerts) await sink.deliver(alert, overdue);
    return undefined;
  } catch (error) {
    if (error instanceof PolicyError) return error.problems.map(({ message }) => message).join('; ');
    return error instanceof DeliveryFailed ? error.message : 'the sink failed';
  }
}

/** A marked alert, and its end for those that would keep it open. */
function testAlertsOf({ kind }: SinkPlan, hash: string, io: Io): Alert[] {
  const id = `test-${Math.random().toString(36).slice(2, 10)}`;
  const at = new Date().toISOString();
  const firing: Alert = {
    schema: 1,
    id: `${id}-1`,
    name: 'QuotaModelWrong',
    status: 'firing',
    severity: 'info',
    downstream: 'TEST',
    at,
    origin: { ...originOf(id, undefined, io.env, () => hash) },
    incident: { id, startedAt: at, throttles: 0, inARow: 0 },
    action: { kind: 'none' },
    impact: { waiting: 0, refused: 0, inFlight: 0, oldestWaitMs: 0, tools: [] },
    observed: { windows: [], processUpMs: 0 },
    server: {},
    hypothesis: 'unknown',
    explanation:
      'TEST: this is a test alert, sent by `penstock alerts test`. Nothing was throttled and nothing is held back.\nTo do: nothing.',
  };
  if (!HEARS_ENDS.has(kind)) return [firing];
  const explanation = 'TEST: the test alert of `penstock alerts test` is over.';
  return [firing, { ...firing, id: `${id}-2`, status: 'resolved', endsAt: at, explanation }];
}

function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, 60);
}
