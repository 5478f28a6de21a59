import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { CONFIG } from './alertmanager.ts';
import { startServer, tempFolder } from './server.ts';

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface RuleAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
  /** Epoch milliseconds of the evaluation that saw it first. */
  readonly activeAtMs: number;
}

export interface Prometheus {
  readonly url: string;
  /** Throws with what Prometheus says where it refuses the expression. */
  readonly query: (expr: string) => Promise<Sample[]>;
  readonly alerts: () => Promise<RuleAlert[]>;
}

export interface PrometheusOptions {
  /** Ports on the loopback interface that serve `/metrics`. */
  readonly ports: readonly number[];
  readonly alertmanagerUrl?: string;
  /** Changes the rules as they are checked in: a shorter `for`, a shorter window. */
  readonly rules?: (text: string) => string;
}

/** How often Prometheus scrapes, and how often it works out the rules. */
export const SCRAPE_MS = 1_000;

/** Debian's Prometheus with the rules as they are checked in; scrapes and judges every second. */
export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const folder = tempFolder();
  const rules = readFileSync(join(CONFIG, 'penstock.rules.yml'), 'utf8');
  writeFileSync(join(folder, 'penstock.rules.yml'), options.rules?.(rules) ?? rules);
  writeFileSync(join(folder, 'prometheus.yml'), stringify(configOf(options)));
  const url = await startServer('prometheus', (port) => [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ]);
  return {
    url,
    query: async (expr) => {
      const { result } = await get<{ result: { metric: Record<string, string>; value: [number, string] }[] }>(
        `${url}/api/v1/query?query=${encodeURIComponent(expr)}`,
      );
      return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    alerts: async () => {
      const { alerts } = await get<{ alerts: (RuleAlert & { activeAt: string })[] }>(`${url}/api/v1/alerts`);
      return alerts.map((alert) => ({ ...alert, activeAtMs: Date.parse(alert.activeAt) }));
    },
  };
}

function configOf({ ports, alertmanagerUrl }: PrometheusOptions): object {
  const every = `${SCRAPE_MS}ms`;
  const alertmanager = alertmanagerUrl === undefined ? [] : [new URL(alertmanagerUrl).host];
  return {
    global: {
      scrape_interval: every,
      scrape_timeout: every,
      evaluation_interval: every,
      external_labels: { environment: 'production' },
    },
    rule_files: ['penstock.rules.yml'],
    alerting: { alertmanagers: [{ static_configs: [{ targets: alertmanager }] }] },
    scrape_configs: [{ job_name: 'agents', static_configs: [{ targets: ports.map((port) => `127.0.0.1:${port}`) }] }],
  };
}

async function get<T>(url: string): Promise<T> {
  const answer = await fetch(url);
  const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string };
  if (status !== 'success') throw new Error(error ?? `Prometheus answered ${answer.status}`);
  return data;
}
