import { type Moment, type PaceStep, paceBefore, STEP_MS } from '../pace.ts';
import type { SecondScene } from '../second-scene.ts';
import { type Look, seconds } from './look.ts';

const HEIGHTS = '▁▂▃▄▅▆▇█';

/** What happened, a line each, in order. */
export function timeline(moments: readonly Moment[], look: Look): string {
  const sorted = [...moments].sort((a, b) => a.atMs - b.atMs);
  return sorted
    .map(({ atMs, text }) => `  ${look.dim(`${(Math.max(0, atMs) / 1_000).toFixed(2)} s`.padStart(8))}  ${text}`)
    .join('\n');
}

/** Three rows of small columns, one for each quarter of a second, to one scale. */
export function paceChart(pace: readonly PaceStep[], look: Look): string {
  const most = Math.max(1, ...pace.flatMap((step) => [step.agents, step.others, step.throttled]));
  const row = (name: string, pick: (step: PaceStep) => number, paint: (text: string) => string) =>
    `  ${name.padEnd(20)}${paint(columns(pace.map(pick), most))}  ${sum(pace.map(pick))}`;
  return [
    row('agents, answered', (step) => step.agents, look.cyan),
    row('others, answered', (step) => step.others, look.yellow),
    row('429, to anybody', (step) => step.throttled, look.red),
    look.dim(`  ${' '.repeat(20)}one column is ${seconds(STEP_MS)}, the highest ${most} requests`),
  ].join('\n');
}

/** The second scene's counts, in lines. */
export function secondSceneCounts(scene: SecondScene): string {
  const { tickets, customer, throttled, incidents } = scene;
  return [
    `  tickets answered     ${tickets.answered} of ${tickets.asked}, in ${seconds(tickets.tookMs)}`,
    `  customer             ${customer.asked} calls: ${customer.answered} answered, ${customer.refused} told no at once` +
      ` (slowest no: ${seconds(customer.slowestNoMs)})`,
    `  429s                 ${throttled.agents} to the agents in ${incidents} incident${incidents === 1 ? '' : 's'},` +
      ` ${throttled.sync} to the sync, ${throttled.stranger} to the newcomer`,
    `  pace at the end      ${paceBefore(scene.pace, tickets.tookMs)} a second, of 48 that Penstock uses of the 60`,
  ].join('\n');
}

function columns(counts: readonly number[], most: number): string {
  const height = (count: number) => Math.max(0, Math.ceil((count / most) * HEIGHTS.length) - 1);
  return counts.map((count) => (count === 0 ? ' ' : (HEIGHTS[height(count)] ?? ''))).join('');
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
