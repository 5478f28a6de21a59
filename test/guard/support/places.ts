import type { ScanOptions } from '../../../src/guard/report.ts';
import { scanText } from '../../../src/guard/scan.ts';

/**
 * What is found in a text, as `line:column what`. `«` before a place in the text marks one that has to be
 * found; the marks are taken out before it is read.
 */
export function places(text: string, { path = 'a.tsx', ...options }: ScanOptions & { path?: string } = {}) {
  const marked = text.split('\n');
  const expected = marked.flatMap((line, at) =>
    [...line.matchAll(/«/g)].map(({ index }, before) => `${at + 1}:${index - before + 1}`),
  );
  const report = scanText(path, text.replaceAll('«', ''), options);
  return { found: report.findings.map(({ line, column }) => `${line}:${column}`), expected, report };
}
