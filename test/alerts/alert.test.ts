import { describe, expect, test } from 'vitest';
import { buildAlert } from '../../src/alerts/alert.ts';
import { explainEnd } from '../../src/alerts/explanation.ts';
import type { AlertFacts } from '../../src/base/alert.ts';
import { factsOf, NOW, origin } from './facts.ts';

const built = (change: Partial<AlertFacts> = {}): ReturnType<typeof buildAlert> => buildAlert(factsOf(change), origin);
const paragraphs = (change: Partial<AlertFacts> = {}): string[] => built(change).explanation.split('\n');

const incident = (inARow: number, throttles = 1): AlertFacts['incident'] => ({
  id: 'incident-1',
  startedAt: NOW,
  throttles,
  inARow,
});
const pause: AlertFacts['action'] = { kind: 'pause', cause: 'retry-after', until: NOW + 14_400_000 };
const refused = (count: number): AlertFacts['impact'] => ({ ...factsOf().impact, refused: count });

test('an alert is plain JSON of schema 1 with instants in ISO 8601', () => {
  const alert = built({ owner: 'logistics', tool: 'get_status', runId: 'job7' });
  expect(JSON.parse(JSON.stringify(alert))).toEqual(alert);
  expect(alert).toMatchObject({
    schema: 1,
    id: 'incident-1-QuotaModelWrong-1',
    status: 'firing',
    at: '2026-01-01T00:00:00.000Z',
    origin,
    incident: { id: 'incident-1', startedAt: '2026-01-01T00:00:00.000Z' },
    action: { kind: 'hold', cause: 'retry-after', until: '2026-01-01T00:00:30.000Z' },
    owner: 'logistics',
    tool: 'get_status',
    runId: 'job7',
  });
  expect(alert.runbook).toBe('penstock/docs/runbook.md#quotamodelwrong');
});

test('at most five tools are named, and an instant that no date can say does no harm', () => {
  const impact = { ...factsOf().impact, tools: ['a', 'b', 'c', 'd', 'e', 'f'] };
  const alert = built({ impact, action: { kind: 'pause', until: Number.MAX_SAFE_INTEGER } });
  expect(alert.impact.tools).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(alert.action.until).toBe('+275760-09-13T00:00:00.000Z');
  expect(built({ at: Number.NaN }).at).toBe('1970-01-01T00:00:00.000Z');
});

describe('severity', () => {
  test.each<[string, Partial<AlertFacts>, string]>([
    ['an incident with a hold', {}, 'warning'],
    ['a downstream that declares no quota', { declared: [] }, 'info'],
    ['a pause that has refused nobody', { action: pause }, 'warning'],
    ['a pause that has refused calls', { action: pause, impact: refused(1) }, 'critical'],
    ['refused calls without a pause', { impact: refused(1) }, 'warning'],
    ['the second incident in a row', { incident: incident(2) }, 'warning'],
    ['the third incident in a row', { incident: incident(3) }, 'critical'],
    ['no quota, but a pause that refuses', { declared: [], action: pause, impact: refused(1) }, 'critical'],
    ['QuotaExhausted', { name: 'QuotaExhausted' }, 'critical'],
    ['LaneStalled', { name: 'LaneStalled' }, 'critical'],
    ['QuotaDrift', { name: 'QuotaDrift' }, 'info'],
    ['OtherConsumer', { name: 'OtherConsumer' }, 'info'],
    ['SinkFailing', { name: 'SinkFailing' }, 'warning'],
  ])('%s', (_, change, severity) => {
    expect(built(change).severity).toBe(severity);
  });
});

test('the hypothesis is what was found first; without a finding it is unknown', () => {
  expect(built().hypothesis).toBe('unknown');
  expect(built({ findings: [] }).hypothesis).toBe('unknown');
  expect(built({ findings: [{ hypothesis: 'restart', windowMs: 60_000 }] }).hypothesis).toBe('restart');
});

describe('the explanation has three parts', () => {
  test('a hold that the server asked for', () => {
    expect(paragraphs({ owner: 'logistics', source: 'contract of 2019' })).toEqual([
      'Penstock holds carrier back until 00:00:30 UTC (in 30 s), as the server asked. 34 calls wait and will start then, unless a deadline comes first.',
      '1 call was throttled with status 429 in this incident. The server asked for 30 s in retry-after. Started by this process: 41 in 60 s (they allow 60, we use 48); 9 in 10 s; 1 in 1 s. This process has been up for 2 h.',
      'Our starts were within what is declared: 60/minute (source: contract of 2019). Why it throttled us is not known: its limit may be lower, it may count in a shorter window, or somebody else may use the same credential. To do, if it comes back: ask logistics which limit applies, and lower `quota` or `utilization` of carrier.',
    ]);
  });

  test('a cooldown of our own choice, just after a restart', () => {
    const [done, seen, toDo] = paragraphs({
      action: { kind: 'hold', cause: 'cooldown', until: NOW + 4_000, step: 2 },
      impact: { ...factsOf().impact, waiting: 0 },
      observed: { ...factsOf().observed, processUpMs: 12_000, sinceHoldMs: 1_500 },
      server: { status: 429 },
      findings: [{ hypothesis: 'restart', windowMs: 60_000 }],
    });
    expect(done).toBe(
      'Penstock holds carrier back until 00:00:04 UTC (in 4 s); the server named no time, this is step 2 of our own cooldown. No call waits.',
    );
    expect(seen).toContain('The server named no time to come back.');
    expect(seen).toContain('The last hold ended 1.5 s before. This process has been up for 12 s.');
    expect(toDo).toMatch(/^Nothing is to be done now: this process is younger than the window \(60 s\)/);
  });

  test('a pause over midnight, the third incident in a row, capped', () => {
    const [done, seen, toDo] = paragraphs({
      at: NOW + 82_800_000,
      action: { ...pause, until: NOW + 90_000_000 },
      incident: incident(3, 7),
      impact: refused(12),
      server: { status: 429, retryAfterMs: 172_800_000, readFrom: 'retry-after', capped: true },
    });
    expect(done).toBe(
      'Penstock has paused carrier until 2026-01-02 01:00:00 UTC (in 2 h), as the server asked. New calls are refused at once (RATE_LIMITED): 12 calls were refused so far. 34 calls wait.',
    );
    expect(seen).toContain('7 calls were throttled with status 429 in this incident, the 3rd in a row.');
    expect(seen).toContain('longer than maxHold allows');
    expect(toDo).toContain('To do now, because waiting does not cure it');
    expect(toDo).toContain("resume('carrier', { all: true }) ends the pause");
  });

  test('a downstream without a quota is proposed one, and is told what that rests on', () => {
    const suggestion = { path: 'downstreams.search.quota', from: null, to: '5/10s' };
    const alert = built({ downstream: 'search', declared: [], suggestion });
    expect(alert.suggestion).toEqual(suggestion);
    expect(alert.explanation.split('\n')[2]).toBe(
      'The policy declares no quota for search, so no model of ours was wrong. To do, by day: find out its limit and declare it as `quota`; 5/10s, what it is known to have answered, is a start.',
    );
    const counters = [{ unit: 'requests', limit: 60, windowMs: 60_000, ageMs: 0 }];
    const evidence = { workers: 1, quotas: [], counters, bunches: [] };
    expect(built({ declared: [], suggestion: { ...suggestion, to: '60/minute' }, evidence }).explanation).toContain(
      '; 60/minute, what its headers say, is a start.',
    );
  });

  test('nothing is proposed where nothing was counted; an unlimited downstream was not held', () => {
    const alert = built({ declared: [], action: { kind: 'none' } });
    expect(alert.suggestion).toBeUndefined();
    expect(alert.explanation).toContain('has not slowed carrier down');
    expect(alert.explanation).toContain('in place of `unlimited`');
    const suggestion = { path: 'downstreams.carrier', from: { unlimited: true }, to: { quota: '4/10s' } };
    expect(built({ declared: [], action: { kind: 'none' }, suggestion }).explanation).toContain('; 4/10s, what');
  });

  test('it claims no more than was counted', () => {
    const tokens = { text: '200000 tokens/minute', limit: 200_000, windowMs: 60_000, unit: 'tokens' };
    expect(built({ declared: [...factsOf().declared, tokens] }).explanation).toContain(
      'Our starts were within what is declared, what they cost in other units was not counted: 60/minute and 200000 tokens/minute.',
    );
    const observed = { windows: [], processUpMs: 7_200_000 };
    expect(built({ observed }).explanation).toContain('\nDeclared: 60/minute. Why it throttled us');
  });

  test('an alert that no 429 raised says what happened instead', () => {
    const [done, seen, toDo] = paragraphs({
      name: 'LaneStalled',
      action: { kind: 'none' },
      detail: '20 calls hold every place and none has settled for 30 s',
    });
    expect(done).toMatch(/^Penstock cannot end a call from outside/);
    expect(seen).toBe(
      '20 calls hold every place and none has settled for 30 s. 3 in flight, 34 waiting, the oldest for 1.2 s.',
    );
    expect(toDo).toMatch(/^To do: find out why these calls do not end/);
  });

  test('where nothing is enforced it says what was not done, and claims nothing that only enforcing could show', () => {
    const windows = [{ windowMs: 60_000, starts: 75, declared: 60, sized: 48 }];
    const observed = { windows, processUpMs: 7_200_000 };
    const [done, , toDo] = paragraphs({ mode: 'observe', observed });
    expect(done).toBe(
      'Penstock holds nothing back: carrier has mode observe, and its calls start as before. Enforced, it would have been held back until 00:00:30 UTC (for 30 s).',
    );
    expect(toDo).toBe(
      'This says nothing against the declared quota: 75 calls were started in 60 s, and it allows 60. With `mode: enforce` Penstock would have started 48 of them. To do: set it for carrier, or have the calls that come at once made fewer.',
    );
    const within = paragraphs({
      mode: 'observe',
      observed: { ...observed, windows: [{ windowMs: 60_000, starts: 55, declared: 60, sized: 48 }] },
    });
    expect(within[2]).toContain('Whether the declared quota is wrong shows once `mode: enforce` is set');
    const few = paragraphs({
      mode: 'observe',
      action: pause,
      observed: { ...observed, windows: [{ windowMs: 60_000, starts: 20, declared: 60, sized: 48 }] },
    });
    expect(few[0]).toContain('Enforced, it would have been paused until');
    expect(few[2]).toMatch(/^Our starts were within what is declared/);
    expect(few[2]).not.toContain('resume(');
    const off = paragraphs({ mode: 'off', action: { kind: 'none' } });
    expect(off[0]).toBe('Penstock holds nothing back: carrier has mode off, and its calls start as before.');
  });

  test.each([
    'QuotaModelWrong',
    'QuotaExhausted',
    'QuotaDrift',
    'OtherConsumer',
    'LaneStalled',
    'UngatedRequest',
    'PolicyRejected',
    'SinkFailing',
  ] as const)('%s: three whole parts, whatever the action', (name) => {
    for (const action of [{ kind: 'none' } as const, factsOf().action, pause]) {
      const parts = paragraphs({ name, action });
      expect(parts).toHaveLength(3);
      for (const part of parts) expect(part).toMatch(/^[A-Z1-9].*\.$/);
      expect(parts.join(' ')).not.toMatch(/undefined|NaN|null/);
    }
  });
});

// The third in a row is never taken for a restart.
test.each<[string, Partial<AlertFacts>, readonly ('restart' | 'unknown')[]]>([
  ['the third in a row', { incident: incident(3) }, ['unknown']],
  ['a pause that refuses', { action: pause, impact: refused(3) }, ['restart', 'unknown']],
])('what is critical never says that nothing is to be done: %s', (_, change, hypotheses) => {
  for (const hypothesis of hypotheses) {
    const findings: AlertFacts['findings'] =
      hypothesis === 'restart' ? [{ hypothesis, windowMs: 60_000 }] : [{ hypothesis, isCounted: false }];
    const alert = built({ ...change, findings });
    expect(alert.severity).toBe('critical');
    expect(alert.explanation).not.toContain('Nothing is to be done');
  }
});

describe('QuotaExhausted says what was known of the time, and nothing of steps', () => {
  const exhausted = (server: AlertFacts['server'], cause: 'cooldown' | 'quota-reset', step?: number): string =>
    built({
      name: 'QuotaExhausted',
      server: { status: 429, ...server },
      action: { kind: 'hold', cause, until: NOW + 60_000, ...(step === undefined ? {} : { step }) },
    }).explanation;

  test.each<[string, AlertFacts['server'], 'cooldown' | 'quota-reset', string, string]>([
    ['nothing', {}, 'cooldown', 'the server named no reset, this is our own choice.', 'The server named no time'],
    [
      'a wait of seconds',
      { retryAfterMs: 5_000, readFrom: 'retry-after' },
      'cooldown',
      'the server named no reset, and its wait is too short for one, this is our own choice.',
      'The server asked for 5 s in retry-after.',
    ],
    [
      'a reset',
      { resetMs: 60_000 },
      'quota-reset',
      'when its quota starts afresh.',
      'The server named no wait, but a reset in 60 s.',
    ],
    [
      'a reset, said before',
      {},
      'quota-reset',
      'when its quota starts afresh.',
      'This answer named no time to come back, an earlier one did.',
    ],
  ])('%s', (_, server, cause, done, seen) => {
    for (const step of [undefined, 1]) {
      const text = exhausted(server, cause, step);
      expect(text).toContain(done);
      expect(text).toContain(seen);
      expect(text).not.toMatch(/step|cooldown/);
    }
  });

  test('its end is no cure', () => {
    const text = explainEnd(built({ name: 'QuotaExhausted' }), new Date(NOW).toISOString(), 300_000, 1);
    expect(text).toBe(
      'carrier has refused no call for want of quota: nothing for 5 min, after one alert since 00:00:00 UTC.\nThat this is cured is not known: see whether its quota was raised or has started afresh, or whether nobody has called.',
    );
  });

  test('the end of an incident repeats what is wrong with the policy', () => {
    const suggestion = { path: 'downstreams.carrier.quota', from: '60/minute', to: '40/minute' };
    const told = { ...built({ suggestion }), hypothesis: 'limit-changed' as const };
    expect(explainEnd(told, new Date(NOW).toISOString(), 300_000, 1)).toContain(
      'as long as the policy stands as it did. In the policy: downstreams.carrier.quota: "60/minute" -> "40/minute".',
    );
  });
});
