import type { Row } from '../contest.ts';
import type { SecondScene } from '../second-scene.ts';
import { seconds } from './look.ts';

/** What the reader has just seen, in two sentences, each true whatever the numbers were. */
export function closing(rows: readonly Row[], scene: SecondScene): [first: string, second: string] {
  return [firstSentence(rows), secondSentence(scene)];
}

function firstSentence(rows: readonly Row[]): string {
  const [bare, ...paced] = rows;
  if (bare === undefined) return 'Nothing was compared.';
  const { tickets, sync } = bare;
  const cost =
    `Without a gate the agents sent ${bare.requests} requests for ${tickets.asked} tickets, got ${tickets.answered} of them` +
    ` and cost the nightly sync ${sync.lost} of its ${sync.asked} calls`;
  const each = paced.map(
    (row) =>
      `${row.name} got ${row.tickets.answered} in ${seconds(row.tookMs)} with ${row.throttled} answer${row.throttled === 1 ? '' : 's'} of 429` +
      ` and ${row.sync.lost} sync call${row.sync.lost === 1 ? '' : 's'} lost`,
  );
  return `${cost}; kept below the quota, ${each.join(', ')}.`;
}

function secondSentence({ tickets, customer, throttled, incidents, blocks }: SecondScene): string {
  const lost = tickets.asked - tickets.answered;
  const end = lost === 0 ? 'all tickets were answered' : `${lost} of ${tickets.asked} tickets were lost`;
  if (incidents === 0) return `Somebody else then took half of the quota, nobody was turned away, and ${end}.`;
  const told = blocks.length === 0 ? 'told nobody' : 'told the person on call what it had seen';
  const drew = `the ${throttled.agents} answer${throttled.agents === 1 ? '' : 's'} of 429 that this drew`;
  const once =
    customer.refused === 0
      ? ''
      : `, said no at once to the ${customer.refused} customer calls that could not have started in time`;
  return (
    `When somebody else took half of the quota, Penstock read ${drew} as ${incidents} incident${incidents === 1 ? '' : 's'},` +
    ` stopped each time for as long as the carrier asked, ${told}${once}, and ${end}.`
  );
}
