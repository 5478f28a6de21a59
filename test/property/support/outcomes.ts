import type { End } from './steps.ts';

/** What an end says to the lane; undefined where it is none of its business. */
export function outcomeOf(end: End): { readonly hintMs: number | undefined } | undefined {
  return end.how === 'value' || end.how === 'throw' ? undefined : { hintMs: end.hintMs };
}

/** What `fn` returns or throws for an end. */
export function resultOf(end: End, id: number): { readonly isThrown: boolean; readonly value: unknown } {
  if (end.how === 'value') return { isThrown: false, value: { id } };
  if (end.how === 'throw') return { isThrown: true, value: new Error(`call ${id} failed`) };
  const status = end.how === 'throw-529' ? 529 : 429;
  const headers = end.hintMs === undefined ? {} : { 'retry-after': String(end.hintMs / 1_000) };
  const answer = { status, headers: new Headers(headers) };
  if (end.how === 'return-429') return { isThrown: false, value: answer };
  return { isThrown: true, value: Object.assign(new Error(`status ${status}`), answer) };
}
