import { isCandidate } from './catalog.ts';
import { type Exemption, exemptionsOf } from './exemptions.ts';
import { parseText, problemOf } from './parse.ts';
import type { FileReport, Finding, ScanOptions } from './report.ts';
import { Uses } from './uses.ts';

export const NOTHING: FileReport = { findings: [], exempted: [], unused: [], problem: undefined };

/** Looks for what passes no gate; never throws. The path tells the language by its ending. */
export function scanText(path: string, file: string, options: ScanOptions = {}): FileReport {
  // A byte order mark is no column.
  const text = file.replace(/^\uFEFF/, '');
  if (!isCandidate(text)) return NOTHING;
  try {
    const { program, comments, stumbled } = parseText(path, text);
    const findings = new Uses(program, options).findings();
    return judged(findings, exemptionsOf(comments, text), stumbled);
  } catch (error) {
    return { ...NOTHING, problem: problemOf(error) };
  }
}

function judged(
  findings: readonly Finding[],
  exemptions: readonly Exemption[],
  stumbled: string | undefined,
): FileReport {
  const left: Finding[] = [];
  const exempted: (Finding & { reason: string })[] = [];
  const used = new Set<Exemption>();
  for (const finding of findings) {
    const exemption = exemptions.find(({ lines }) => lines.includes(finding.line));
    if (exemption !== undefined) used.add(exemption);
    if (exemption === undefined) left.push(finding);
    else if (exemption.reason !== '') exempted.push({ ...finding, reason: exemption.reason });
    else left.push({ ...finding, problem: `${finding.problem} (its penstock-allow gives no reason)` });
  }
  const unused = exemptions.filter((one) => !used.has(one)).map(({ line }) => line);
  return { findings: left, exempted, unused, problem: stumbled };
}
