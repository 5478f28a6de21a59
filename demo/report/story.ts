import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { Row } from '../contest.ts';
import type { SecondScene } from '../second-scene.ts';
import type { Settings } from '../settings.ts';
import { waitHistogram } from './histogram.ts';
import { heading, type Look, seconds } from './look.ts';
import { resultsTable } from './table.ts';
import { paceChart, secondSceneCounts, timeline } from './timeline.ts';
import { medianTrace, waterfall } from './waterfall.ts';

/** What the reader is about to see. */
export function opening(settings: Settings, look: Look): string {
  const { carrier, calls } = settings;
  return [
    heading(look, 'One quota, three ways to meet it'),
    `A carrier's API on this machine, over real HTTP, accepts ${carrier.limit} requests in any second`,
    `(for 60 a minute: everything but the retries' waits runs sixty times faster), answers 429 above that,`,
    `and 503 to everyone for a while after a storm of 429s. A nightly sync uses it too, and a customer's`,
    `agent asks now and then with a deadline of ${settings.customerDeadlineMs} ms. Now ${calls} tickets want their delivery status.`,
    '',
  ].join('\n');
}

/** The first scene's results. */
export function firstScene(rows: readonly Row[], spans: readonly ReadableSpan[], look: Look): string {
  return [
    heading(look, 'Side by side'),
    resultsTable(rows, look),
    ...rows.map((row) => look.dim(`  ${row.name}: ${row.how}`)),
    look.dim(`  Lateness of the clients' event loop, p99: ${rows.map((row) => seconds(row.loopLateMs)).join(', ')}.`),
    look.dim("  The customer's worst wait counts calls that got no answer until they gave up."),
    heading(look, 'How long a ticket waited for its answer'),
    waitHistogram(rows, look),
    heading(look, 'One call through Penstock, as a trace shows it'),
    waterfall(medianTrace(spans), look),
    '',
  ].join('\n');
}

/** The second scene's results. */
export function secondScene(scene: SecondScene, look: Look): string {
  return [
    heading(look, 'Somebody else takes half of the quota'),
    timeline(scene.moments, look),
    '',
    paceChart(scene.pace, look),
    '',
    secondSceneCounts(scene),
    heading(look, 'What the person on call gets'),
    onCall(scene),
  ].join('\n');
}

/** The last lines. */
export function ending(sentences: readonly string[], look: Look): string {
  return [heading(look, 'What you just saw'), ...sentences.map(wrapped), ''].join('\n');
}

function wrapped(text: string): string {
  const LINE_WIDTH = 100;
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && longer.length <= LINE_WIDTH) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join('\n');
}

function onCall({ blocks, alerts }: SecondScene): string {
  const [first, ...more] = blocks;
  if (first === undefined) return '  nothing: no call was throttled';
  const rest = more.length === 0 ? '' : `, and ${more.length} more like it later`;
  const count = alerts.length === 1 ? '1 answer' : `${alerts.length} answers`;
  return `${first}  (${count} of 429 made this one message${rest}; onAlert heard each of them)`;
}
