import type { Alert } from '../../base/alert.ts';
import { changeText } from '../findings.ts';
import { subjectOf } from '../subject.ts';

/** At most `most` UTF-16 units, never half a character; what was cut is shown as cut. */
export function bounded(text: string, most: number): string {
  const whole = text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 0))}…`.slice(0, most);
  return whole.replace(HALF, '\ufffd');
}

/** Half a character: a receiver that checks its UTF-8 would refuse the whole message. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** One line: what comes from users may hold line breaks and other control characters. */
export function oneLine(text: string, most: number): string {
  return bounded(text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim(), most);
}

/** `carrier: QuotaModelWrong, 3 throttles, held until 03:12:41 UTC`, for subjects and notifications. */
export function headline(alert: Alert, most: number): string {
  const { incident, action, impact } = alert;
  const facts: string[] = [];
  if (alert.status === 'resolved') facts.push('over');
  else {
    if (incident.throttles > 0)
      facts.push(`throttled ${incident.throttles} ${incident.throttles === 1 ? 'time' : 'times'}`);
    if (action.kind !== 'none' && action.until !== undefined) {
      facts.push(`${action.kind === 'pause' ? 'paused' : 'held'} until ${action.until.slice(11, 19)} UTC`);
    }
    if (impact.waiting > 0) facts.push(`${impact.waiting} waiting`);
    if (impact.refused > 0) facts.push(`${impact.refused} refused`);
  }
  const tail = facts.length === 0 ? '' : `: ${facts.join(', ')}`;
  const room = Math.max(most - alert.name.length - tail.length - 2, 8);
  return oneLine(`${alert.name} ${oneLine(subjectOf(alert), room)}${tail}`, most);
}

/** The change of the policy that an alert proposes, on one line. */
export function suggestionLine(alert: Alert, most: number): string | undefined {
  if (alert.suggestion === undefined || alert.status === 'resolved') return undefined;
  return oneLine(changeText(alert.suggestion), most);
}

/** The runbook, where it is an address that can be followed. */
export function runbookUrl({ runbook }: Alert): string | undefined {
  if (runbook === undefined || runbook.length > 2_000) return undefined;
  try {
    const { protocol, href } = new URL(runbook);
    return protocol === 'http:' || protocol === 'https:' ? href : undefined;
  } catch {
    return undefined;
  }
}
