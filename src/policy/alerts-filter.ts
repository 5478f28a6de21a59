import { nearest } from '../base/nearest.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import { ALERT_NAMES, SEVERITIES } from './alerts-schema.ts';
import { type Complain, kindOf, misspelt, plainKey } from './alerts-words.ts';
import { isObject, type Path } from './paths.ts';

/** What the filters of sinks may name. */
export interface Known {
  readonly downstreams: readonly string[];
  readonly owners: readonly string[];
}

export function knownOf(plans: Iterable<Pick<DownstreamPlan, 'name' | 'owner'>>): Known {
  const all = [...plans];
  const owners = all.flatMap(({ owner }) => (owner === undefined ? [] : [owner]));
  return { downstreams: all.map(({ name }) => name), owners: [...new Set(owners)] };
}

/** Names that filters give: misspelt ones would silently match nothing. */
export function checkFilter(only: unknown, at: Path, known: Known, complain: Complain): void {
  if (only === undefined) return;
  const lists: Readonly<Record<string, readonly string[]>> = {
    severity: SEVERITIES,
    owner: known.owners,
    downstream: known.downstreams,
    name: ALERT_NAMES,
  };
  if (!isObject(only)) {
    complain(at, { message: `expected an object: { ${Object.keys(lists).join(', ')} }; found ${kindOf(only)}` });
    return;
  }
  for (const [key, value] of Object.entries(only)) {
    const list = Object.hasOwn(lists, key) ? lists[key] : undefined;
    if (list === undefined)
      complain(
        [...at, plainKey(key)],
        misspelt('unknown filter', nearest(key, Object.keys(lists)), Object.keys(lists).join(', ')),
      );
    else if (value !== undefined) checkNames(key, value, [...at, key], list, complain);
  }
}

const UNKNOWN: Readonly<Record<string, string>> = {
  severity: 'there is no such severity',
  owner: 'no downstream has this owner',
  downstream: 'no downstream is called this',
  name: 'there is no alert of this name',
};
const MOST_LISTED = 10;

function checkNames(key: string, value: unknown, at: Path, list: readonly string[], complain: Complain): void {
  const names: unknown[] = Array.isArray(value) ? value : [value];
  if (names.length === 0) complain(at, { message: 'an empty list matches nothing: remove it to match everything' });
  for (const [index, name] of names.entries()) {
    const place = Array.isArray(value) ? [...at, index] : at;
    if (typeof name !== 'string') {
      complain(place, { message: `expected a text; found ${kindOf(name)}` });
      continue;
    }
    if (list.includes(name)) continue;
    const near = nearest(name, list);
    const some =
      list.length === 0
        ? 'none is declared'
        : `known are ${list.slice(0, MOST_LISTED).join(', ')}${list.length > MOST_LISTED ? ', ...' : ''}`;
    complain(place, {
      message: `${UNKNOWN[key]}; ${near === undefined ? some : `did you mean ${near}?`}`,
      expected: list.slice(0, MOST_LISTED).join(', '),
      ...(near === undefined ? {} : { nearest: near }),
    });
  }
}
