/** A TypeScript module that names the downstreams of a policy file for the compiler. */
export function typesModule(file: string, names: readonly string[]): string {
  const list = names.map((name) => `  ${JSON.stringify(name)},\n`).join('');
  // A comment's end inside a file name would end the comment.
  const shown = file.replaceAll('*/', '*\\/');
  return `// Written by \`penstock types ${shown}\`: run it again when names change, do not edit.

/** The downstreams that ${shown} declares; \`dispatcher.require(downstreams)\` checks that they exist. */
export const downstreams = [
${list}] as const;

/** One of their names: \`createDispatcher(await loadPolicy<DownstreamName>(file))\`. */
export type DownstreamName = (typeof downstreams)[number];
`;
}
