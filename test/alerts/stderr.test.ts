import { afterEach, describe, expect, test, vi } from 'vitest';
import { buildAlert } from '../../src/alerts/alert.ts';
import { stderrSink } from '../../src/alerts/stderr.ts';
import type { Alert, AlertFacts } from '../../src/base/alert.ts';
import { factsOf, origin } from './facts.ts';

function written(alert: Alert, isTerminal: boolean): string {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  void stderrSink({ write, isTerminal }).deliver(alert, new AbortController().signal);
  return text;
}

const alertOf = (change: Partial<AlertFacts> = {}): Alert => buildAlert(factsOf(change), origin);

test('one line of JSON elsewhere', () => {
  const alert = alertOf({ tool: 'two\nlines' });
  const text = written(alert, false);
  expect(text.split('\n')).toHaveLength(2);
  expect(JSON.parse(text)).toEqual(alert);
});

test('a block on a terminal', () => {
  expect(written(alertOf({ owner: 'logistics' }), true)).toBe(
    `penstock WARNING carrier: QuotaModelWrong at 2026-01-01 00:00:00 UTC
  Penstock holds carrier back until 00:00:30 UTC (in 30 s), as the server asked. 34 calls wait and
  will start then, unless a deadline comes first.
  1 call was throttled with status 429 in this incident. The server asked for 30 s in retry-after.
  Started by this process: 41 in 60 s (they allow 60, we use 48); 9 in 10 s; 1 in 1 s. This
  process has been up for 2 h.
  Our starts were within what is declared: 60/minute. Why it throttled us is not known: its limit
  may be lower, it may count in a shorter window, or somebody else may use the same credential. To
  do, if it comes back: ask logistics which limit applies, and lower \`quota\` or \`utilization\` of
  carrier.
  owner: logistics | runbook: penstock/docs/runbook.md#quotamodelwrong | incident: incident-1 | instance: worker-7
`,
  );
});

test('a change of the policy has a line of its own; an end is headed as one', () => {
  const suggestion = { path: 'downstreams.carrier.quota', from: null, to: '37/minute' };
  const alert = alertOf({ declared: [], suggestion });
  expect(written(alert, true)).toContain('\n  policy: add `quota: "37/minute"` to downstreams.carrier\n');
  const changed = { ...alert, suggestion: { path: 'a.b', from: 0.8, to: 0.5 } };
  expect(written(changed, true)).toContain('\n  policy: a.b: 0.8 -> 0.5\n');
  const told = { ...changed, explanation: 'Done.\nSeen.\nTo do. In the policy: a.b: 0.8 -> 0.5.' };
  expect(written(told, true)).not.toContain('\n  policy:');
  expect(written({ ...alert, status: 'resolved' }, true)).toMatch(/^penstock RESOLVED carrier: /);
  expect(written({ ...alert, status: 'resolved' }, true)).not.toContain('policy:');
});

test('a name cannot fake a line or move the cursor', () => {
  const text = written(alertOf({ tool: 'x\n\u001b[2Jpenstock CRITICAL', downstream: 'a\rb' }), true);
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  expect(text.split('\n').filter((line) => line.startsWith('penstock'))).toHaveLength(1);
});

describe('without options', () => {
  afterEach(() => vi.restoreAllMocks());

  test('it writes to stderr, a block where that is a terminal', () => {
    const write = vi.fn();
    for (const isTTY of [true, false]) {
      vi.stubGlobal('process', { stderr: { isTTY, write } });
      void stderrSink().deliver(alertOf(), new AbortController().signal);
    }
    vi.unstubAllGlobals();
    expect(String(write.mock.calls[0]?.[0])).toMatch(/^penstock WARNING/);
    expect(String(write.mock.calls[1]?.[0])).toMatch(/^\{"schema":1.*\}\n$/);
  });

  test('where there is no process it writes to the console', () => {
    const error = vi.spyOn(console, 'error').mockReturnValue(undefined);
    vi.stubGlobal('process', undefined);
    try {
      void stderrSink().deliver(alertOf(), new AbortController().signal);
    } finally {
      vi.unstubAllGlobals();
    }
    expect(error).toHaveBeenCalledWith(expect.stringMatching(/^\{"schema":1.*\}$/));
  });
});
