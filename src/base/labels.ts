/** Set by Penstock; what routes and silences rely on. */
const OWN_LABELS: ReadonlySet<string> = new Set(['alertname', 'downstream', 'severity', 'owner', 'environment']);

/** Why a label may not have this name. Before 0.27 Alertmanager takes no other names than these. */
export function labelProblem(name: string): string | undefined {
  if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name)) return 'expected a name of letters, digits and _, such as team';
  if (name.startsWith('__')) return 'names that begin with __ are kept for Alertmanager itself';
  return OWN_LABELS.has(name) ? 'this label is set by Penstock itself' : undefined;
}
