import type { PolicyProblem } from '../base/errors.ts';
import type { SinkFilter, SinkPlan } from '../base/plan.ts';
import { readEntry } from './alerts-entry.ts';
import { checkFilter, type Known } from './alerts-filter.ts';
import { checkOptions } from './alerts-options.ts';
import { type Complain, kindOf, type SinkDraft } from './alerts-words.ts';
import { isObject, pathText } from './paths.ts';

export interface PlannedAlerts {
  readonly alerts: readonly SinkPlan[];
  readonly problems: readonly PolicyProblem[];
}

/**
 * The sinks of a policy. A secret may stand here by mistake, so that no problem says what was found, in its
 * message or beside it, unless that is a word of ours.
 */
export function planAlerts(input: unknown, known: Known): PlannedAlerts {
  const problems: PolicyProblem[] = [];
  const complain: Complain = (path, problem) => void problems.push({ path: pathText(['alerts', ...path]), ...problem });
  if (!Array.isArray(input)) {
    const one =
      isObject(input) || typeof input === 'string' ? '; each sink begins with a dash: "- slack: { ... }"' : '';
    complain([], { message: `expected a list of sinks; found ${kindOf(input)}${one}` });
    return { alerts: [], problems };
  }
  const taken = new Map<string, number>();
  const drafts = input.flatMap((entry: unknown, index) => {
    const found = readEntry(entry, index, complain);
    if (found === undefined) return [];
    const { options } = found;
    checkOptions(found, index, complain);
    checkFilter(options.only, [index, found.kind, 'only'], known, complain);
    const { name } = options;
    if (typeof name === 'string') {
      if (taken.has(name)) {
        complain([index, found.kind, 'name'], {
          message: `alerts[${taken.get(name)}] has this name too; each sink needs one of its own`,
        });
      }
      taken.set(name, index);
    }
    return [found];
  });
  const names = new Set(taken.keys());
  return { alerts: drafts.map((draft) => planned(draft, names)), problems };
}

/** A sink that has no name is called what it is; a second one `slack-2`. */
function planned({ kind, options }: SinkDraft, names: Set<string>): SinkPlan {
  const { name: given, only, ...rest } = options;
  let name = typeof given === 'string' ? given : kind;
  if (given === undefined) {
    for (let count = 2; names.has(name); count += 1) name = `${kind}-${count}`;
    names.add(name);
  }
  const defined = Object.fromEntries(Object.entries(structuredClone(rest)).filter(([, value]) => value !== undefined));
  return { name, kind, options: defined, ...(isObject(only) ? { only: filterOf(only) } : {}) };
}

function filterOf(only: Readonly<Record<string, unknown>>): SinkFilter {
  const lists = Object.entries(only).flatMap(([key, value]) => (value === undefined ? [] : [[key, listOf(value)]]));
  return Object.fromEntries(lists) as SinkFilter;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? [...value] : [value];
}
