import type { PolicyProblem } from '../base/errors.ts';
import type { SinkKind } from '../base/plan.ts';
import { isObject, type Path } from './paths.ts';

/** Notes a problem at a path below `alerts`. */
export type Complain = (path: Path, problem: Omit<PolicyProblem, 'path'>) => void;

/** One entry of the list, while it is checked. */
export interface SinkDraft {
  readonly kind: SinkKind;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Something that is not known, with what was probably meant. */
export function misspelt(what: string, near: string | undefined, known: string): Omit<PolicyProblem, 'path'> {
  return {
    message: `${what}; ${near === undefined ? `expected ${known}` : `did you mean ${near}?`}`,
    expected: known,
    ...(near === undefined ? {} : { nearest: near }),
  };
}

/** What a value is, never what it says. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'string') return value.trim() === '' ? 'an empty text' : 'a text';
  return isObject(value) ? 'an object' : `a ${typeof value}`;
}

/** A key of a mistaken entry may be a pasted secret too. */
export function plainKey(key: string): string {
  return /^[A-Za-z_][\w.-]{0,40}$/.test(key) && !/\d.*\d/.test(key) ? key : '(unknown)';
}
