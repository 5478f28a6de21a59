import * as z from 'zod';
import { parseDuration } from '../base/duration.ts';

/** What is known of an option besides its shape. */
export interface Note {
  /** What a right value looks like, to follow "expected". */
  readonly expected: string;
  readonly meaning: string;
  /** As the options table shows it. */
  readonly default?: string;
}

const notes = z.registry<Note>();

/** The note on a schema, where it has one. */
export function noteOf(schema: z.core.$ZodType): Note | undefined {
  return notes.get(schema as z.ZodType);
}

/**
 * Puts an option's words beside its shape; `value` is its default where that is one plain
 * value, `id` its name in the JSON Schema where it is used more than once.
 */
export function option<T extends z.ZodType>(
  schema: T,
  words: Note & { readonly value?: unknown; readonly id?: string },
): T {
  const { value, id, ...rest } = words;
  const note = value === undefined ? rest : { ...rest, default: valueText(value) };
  notes.add(schema, note);
  z.globalRegistry.add(schema, {
    description: describe(note),
    ...(id === undefined ? {} : { id }),
    ...(value === undefined ? {} : { default: value as never }),
  });
  return schema;
}

function valueText(value: unknown): string {
  return Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
}

function describe(note: Note): string {
  const fallback = note.default === undefined ? '' : ` Default: ${note.default}.`;
  return `${note.meaning}. Takes ${note.expected}.${fallback}`;
}

/** Longer than this is a mistake: an instant given as a duration, mostly. */
const LONGEST_MS = 366 * 86_400_000;
export const DURATION_WORDS = 'milliseconds or a text such as "250ms", "30s", "5m", "1h", "1d"';
const ANY_DURATION = /^\d+(\.\d+)?(ms|s|m|h|d)$/;
const POSITIVE_DURATION = /^(?=.*[1-9])\d+(\.\d+)?(ms|s|m|h|d)$/;

function notTooLong(text: string): boolean {
  return (parseDuration(text) ?? 0) <= LONGEST_MS;
}

/** A duration above zero. */
export function duration() {
  return z.union([z.number().positive().max(LONGEST_MS), z.string().regex(POSITIVE_DURATION).refine(notTooLong)]);
}

/** A duration that may be zero. */
export function durationOrZero() {
  return z.union([z.number().min(0).max(LONGEST_MS), z.string().regex(ANY_DURATION).refine(notTooLong)]);
}

export const POSITIVE_DURATION_WORDS = `more than 0: ${DURATION_WORDS} (at most 366d)`;
export const ZERO_DURATION_WORDS = `0 or more: ${DURATION_WORDS} (at most 366d)`;

/** A whole number, `least` or more. */
export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER) {
  return z.int().min(least).max(most);
}

/** A text with something in it. */
export function words() {
  return z.string().regex(/\S/);
}
