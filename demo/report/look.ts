import pc from 'picocolors';

export type Look = ReturnType<typeof pc.createColors>;

/** Colours for a stream: only on a terminal that can show them, never where NO_COLOR is set, always where FORCE_COLOR is. */
export function lookFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): Look {
  if (env.NO_COLOR) return pc.createColors(false);
  const isAsked = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0';
  return pc.createColors(isAsked || (stream.isTTY === true && env.TERM !== 'dumb'));
}

/** `8 ms`, `0.51 s`, `17.4 s`. */
export function seconds(ms: number): string {
  if (ms < 100) return `${Math.round(ms)} ms`;
  return ms < 10_000 ? `${(ms / 1_000).toFixed(2)} s` : `${(ms / 1_000).toFixed(1)} s`;
}

/** A heading with a rule as long as itself. */
export function heading(look: Look, text: string): string {
  return `\n${look.bold(text)}\n${look.dim('─'.repeat(text.length))}`;
}
