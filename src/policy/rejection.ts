import type { PolicyError, PolicyProblem } from '../base/errors.ts';
import { show } from '../base/text.ts';
import { foundText } from './paths.ts';

/** Enough to see what is wrong; `penstock check` names every problem. */
const MOST_TOLD = 5;
const LONGEST = 300;

/** What is wrong with a policy, for alerts: where and what was expected, no text that was found there. */
export function rejectionText({ problems, message }: PolicyError): string {
  const [where = 'policy'] = message.split('\n');
  const told = problems.slice(0, MOST_TOLD).map((problem) => `${problem.path}: ${withoutValue(problem)}`);
  const more = problems.length > MOST_TOLD ? [`and ${problems.length - MOST_TOLD} more`] : [];
  return `${where}: ${[...told, ...more].join('; ')}.`;
}

/** Somebody may have pasted a secret where a number was expected. */
function withoutValue({ message, found }: PolicyProblem): string {
  const texts = typeof found === 'string' && found !== '' ? [foundText(found), show(found), found] : [];
  const told = texts.reduce((text, shown) => text.replaceAll(shown, 'a text'), message);
  return told.length > LONGEST ? `${told.slice(0, LONGEST)}...` : told;
}
