import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { startServer, tempFolder } from './server.ts';

export const CONFIG = join(import.meta.dirname, '..', '..', '..', 'config', 'prometheus');

/** An alert as Alertmanager's API shows it. */
export interface ShownAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly status: {
    readonly state: 'active' | 'suppressed' | 'unprocessed';
    readonly silencedBy: readonly string[];
    readonly inhibitedBy: readonly string[];
  };
}

export interface Alertmanager {
  readonly url: string;
  /** What is firing now, silenced and inhibited alerts included; by name, where one is given. */
  readonly alerts: (name?: string) => Promise<ShownAlert[]>;
}

/** Debian's Alertmanager with the example configuration. */
export async function startAlertmanager(): Promise<Alertmanager> {
  const folder = tempFolder();
  const file = join(folder, 'alertmanager.yml');
  cpSync(join(CONFIG, 'alertmanager.example.yml'), file);
  const url = await startServer('prometheus-alertmanager', (port) => [
    `--config.file=${file}`,
    `--storage.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    // Without it, it opens a port for its peers on all interfaces.
    '--cluster.listen-address=',
  ]);
  const alerts = async (name?: string): Promise<ShownAlert[]> => {
    const filter = name === undefined ? '' : `?filter=${encodeURIComponent(`alertname="${name}"`)}`;
    const answer = await fetch(`${url}/api/v2/alerts${filter}`);
    if (!answer.ok) throw new Error(`Alertmanager answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as ShownAlert[];
  };
  return { url, alerts };
}
