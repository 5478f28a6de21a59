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
  const each = paced.map((row) => {
    const harm = `${counted(row.throttled, 'answer')} of 429 and ${counted(row.sync.lost, 'sync call')} lost`;
    return `${row.name} got ${row.tickets.answered} in ${seconds(row.tookMs)} with ${harm}`;
  });
  return `${cost}; kept below the quota, ${each.join(', ')}.`;
}

function secondSentence({ tickets, customer, throttled, incidents, blocks }: SecondScene): string {
  const lost = tickets.asked - tickets.answered;
  const end = lost === 0 ? 'all tickets were answered' : `${lost} of ${tickets.asked} tickets were lost`;
  if (incidents === 0) return `Somebody else then took half of the quota, nobody was turned away, and ${end}.`;
  const told = blocks.length === 0 ? 'told nobody' : 'told the person on call what it had seen';
  const drew = `the ${counted(throttled.agents, 'answer')} of 429 that this drew`;
  const noes = `said no at once to the ${counted(customer.refused, 'customer call')} that could not have started in time`;
  const once = customer.refused === 0 ? '' : `, ${noes}`;
  return (
    `When somebody else took half of the quota, Penstock read ${drew} as ${counted(incidents, 'incident')},` +
    ` stopped ${incidents === 1 ? '' : 'each time '}for as long as the carrier asked, ${told}${once}, and ${end}.`
  );
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
