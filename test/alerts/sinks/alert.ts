import { buildAlert } from '../../../src/alerts/alert.ts';
import type { Alert, AlertFacts } from '../../../src/base/alert.ts';
import { factsOf } from '../facts.ts';

const origin: Alert['origin'] = {
  service: 'agents',
  environment: 'production',
  instance: 'worker-7',
  version: '0.1.0',
  policyHash: '0123456789abcdef',
};

const TRACE = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

/** An alert with everything in it that an alert can have. */
export function alertOf(change: Partial<AlertFacts> = {}, over: Partial<Alert> = {}): Alert {
  const facts = factsOf({
    owner: 'logistics',
    source: 'contract of 2019',
    runbook: 'https://wiki.example/penstock#quota',
    tool: 'get_status',
    runId: 'run-1',
    suggestion: { path: 'downstreams.carrier.quota', from: '60/minute', to: '37/minute' },
    ...TRACE,
    ...change,
  });
  return { ...buildAlert(facts, origin, 'worker-7-1'), ...over };
}

export function resolvedOf(change: Partial<AlertFacts> = {}): Alert {
  const at = '2026-01-01T00:10:00.000Z';
  return alertOf(change, { id: 'worker-7-2', status: 'resolved', at, endsAt: at, explanation: 'It is over.' });
}

/** Names that users and models choose, at their worst. */
export const HOSTILE: Partial<AlertFacts> = {
  downstream: `<!channel> & *bold* "x"\n\u001b[2J\u202e\ud800 ${'long'.repeat(2_000)}`,
  owner: `<https://evil.example|click>${'o'.repeat(5_000)}`,
  source: 'a\u0000b',
  runbook: 'javascript:alert(1)',
  tool: `\`\`\`@here\r\n${'t'.repeat(5_000)}`,
  runId: '\u2028{"labels":{}}',
};
