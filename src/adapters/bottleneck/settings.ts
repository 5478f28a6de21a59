/** Settings by the names that Bottleneck's constructor gives them. */
export type Settings = Readonly<Record<string, unknown>>;

/**
 * What a limiter was made with, as it is now. Bottleneck has no public way to ask: these are the fields of 2.19, and
 * undefined where they are not there.
 */
export function settingsOf(limiter: unknown): Settings | undefined {
  const store = fieldOf(limiter, '_store');
  const kept = fieldOf(store, 'storeOptions');
  if (typeof kept !== 'object' || kept === null) return undefined;
  const own: Record<string, unknown> = { ...kept };
  for (const name of ['id', 'datastore', 'connection', 'rejectOnDrop', 'trackDoneStatus', 'Promise']) {
    own[name] = fieldOf(limiter, name);
  }
  for (const name of ['timeout', 'clearDatastore', 'clientOptions', 'clusterNodes', 'heartbeatInterval']) {
    own[name] = fieldOf(store, name);
  }
  return own;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
