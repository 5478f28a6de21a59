/**
 * `npm run demo`: 800 calls against a rate-limited API, without a gate, through Bottleneck and
 * through Penstock, and then what happens when somebody else uses the quota too.
 */
import { parseArgs } from 'node:util';
import { compete, type Row } from './contest.ts';
import { bare, bottleneck } from './contestant.ts';
import { penstock } from './penstock.ts';
import { closing } from './report/closing.ts';
import { lookFor } from './report/look.ts';
import { createProgress } from './report/progress.ts';
import { ending, firstScene, opening, secondScene } from './report/story.ts';
import { medianTrace, spanJson } from './report/waterfall.ts';
import { runSecondScene } from './second-scene.ts';
import { type Settings, settingsFor } from './settings.ts';
import { startTracing } from './tracing.ts';

const HELP = `Usage: npm run demo -- [--json] [--calls N]

  --json      results as JSON on stdout, nothing else there
  --calls N   tickets of the first scene (800); fewer make both scenes shorter
  --help      this text

Progress goes to stderr. NO_COLOR is honoured. Takes about a minute.`;

// Should the first scene draw an alert, the table shows it; a block of text would tear the progress bar.
const quietPenstock = (url: string) => penstock(url, { alertSinks: [] });

async function run(settings: Settings, isJson: boolean): Promise<void> {
  const startedAt = performance.now();
  const look = lookFor(process.stdout);
  const say = (text: string) => void (isJson || process.stdout.write(`${text}\n`));
  const progress = createProgress(process.stderr);
  // The carriers are child processes that end with this one.
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => {
      progress.end();
      process.exit(code);
    });
  }
  say(opening(settings, look));
  const tracing = startTracing();
  const rows: Row[] = [];
  for (const make of [bare, bottleneck, quietPenstock]) rows.push(await compete(make, settings, progress));
  const spans = tracing.spans();
  await tracing.close();
  say(firstScene(rows, spans, look));
  const scene = await runSecondScene(settings, progress);
  say(secondScene(scene, look));
  const sentences = closing(rows, scene);
  say(ending(sentences, look));
  if (!isJson) return;
  const results = {
    schema: 1,
    settings,
    firstScene: { contestants: rows },
    waitTrace: medianTrace(spans).map(spanJson),
    secondScene: scene,
    closing: sentences,
    tookMs: performance.now() - startedAt,
  };
  process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
}

const { values } = parseArgs({
  options: { json: { type: 'boolean' }, calls: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
});
const calls = Number(values.calls ?? 800);
if (values.help === true) {
  console.log(HELP);
} else if (!Number.isInteger(calls) || calls < 10 || calls > 1_200) {
  console.error(`--calls: expected a whole number from 10 to 1200, found ${values.calls}`);
  process.exitCode = 2;
} else {
  await run(settingsFor(calls), values.json === true);
}
