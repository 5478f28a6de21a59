import type { Alert, AlertSink } from '../../../src/base/alert.ts';

/** Stands in for `alertmanagerSink` of `penstock/alerts`: posts what it posts. */
export function alertmanagerSink({ url }: { readonly url: string }): AlertSink {
  return {
    name: 'alertmanager',
    deliver: async (alert, signal) => {
      const answer = await fetch(`${url}/api/v2/alerts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([posted(alert)]),
        signal,
      });
      if (!answer.ok) throw new Error(`Alertmanager answered ${answer.status}`);
    },
  };
}

function posted({ name, downstream, severity, owner, origin, explanation, endsAt, ...alert }: Alert): object {
  const { service, environment, instance } = origin;
  const labels = { alertname: name, downstream, severity, owner, service, environment };
  return {
    labels: Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== undefined)),
    annotations: { summary: explanation.split('\n')[0], description: explanation, instance },
    startsAt: alert.incident.startedAt,
    ...(endsAt !== undefined && { endsAt }),
  };
}
