import type { AlertFacts } from '../base/alert.ts';
import { formatDuration } from '../base/duration.ts';
import { clockTime } from './instants.ts';

/** Whether Penstock only looked on: what then came of our starts says nothing about holding them back. */
export function isUnenforced({ mode }: AlertFacts): boolean {
  return mode === 'observe' || mode === 'off';
}

/** What was not done. */
export function nothingHeld({ mode, downstream, action, at }: AlertFacts): string {
  const held = `Penstock holds nothing back: ${downstream} has mode ${mode}, and its calls start as before.`;
  if (mode === 'off' || action.kind === 'none' || action.until === undefined) return held;
  const until = `until ${clockTime(action.until, at)} (for ${formatDuration(Math.max(0, action.until - at))})`;
  return action.kind === 'hold'
    ? `${held} Enforced, it would have been held back ${until}.`
    : `${held} Enforced, it would have been paused ${until}, and new calls refused.`;
}

/** Where more was started than is declared, the model is not what was wrong; nothing where it was not. */
export function beyondTheModel({ downstream, observed, mode }: AlertFacts): string | undefined {
  const beyond = observed.windows.filter(({ starts, declared, sized }) => starts > (sized ?? declared ?? Infinity));
  const [widest] = beyond.sort((a, b) => b.windowMs - a.windowMs);
  if (widest === undefined) return undefined;
  const { windowMs, starts, declared = starts, sized = declared } = widest;
  const window = formatDuration(windowMs);
  return starts > declared
    ? `This says nothing against the declared quota: ${starts} calls were started in ${window}, and it allows ${declared}. With \`mode: enforce\` Penstock would have started ${Math.floor(sized)} of them. To do: set it for ${downstream}, or have the calls that come at once made fewer.`
    : `With mode ${mode} more was started than Penstock would have let through: ${starts} calls in ${window}, of ${declared} that they allow and ${Math.floor(sized)} that it would have used. Whether the declared quota is wrong shows once \`mode: enforce\` is set for ${downstream}.`;
}
