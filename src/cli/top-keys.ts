import { SORT_KEYS } from './top-columns.ts';
import type { View } from './top-view.ts';

/** A key as `node:readline` names it. */
export interface Key {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean | undefined;
}

/** What a key asks for: another view, or something that is not a matter of view. */
export type Wish = View | 'quit' | 'redraw' | 'suspend' | undefined;

const PAGE = 10;
const SCROLLS: Readonly<Record<string, number>> = {
  up: -1,
  k: -1,
  down: 1,
  j: 1,
  pageup: -PAGE,
  pagedown: PAGE,
  home: Number.NEGATIVE_INFINITY,
  end: Number.POSITIVE_INFINITY,
};

/** What becomes of the view when a key is pressed. `mostSkipped`: as far as one can scroll. */
export function pressed({ name, sequence, ctrl }: Key, view: View, mostSkipped: number): Wish {
  const key = name ?? sequence ?? '';
  if (ctrl === true) {
    if (key === 'c' || key === 'd') return 'quit';
    if (key === 'l') return 'redraw';
    return key === 'z' ? 'suspend' : undefined;
  }
  if (key === 'q') return 'quit';
  if (sequence === '?') return { ...view, isHelp: !view.isHelp };
  if (view.isHelp) return { ...view, isHelp: false };
  if (key === 'i') return { ...view, isReversed: !view.isReversed };
  if (key === 'space' || sequence === ' ') return { ...view, isFrozen: !view.isFrozen };
  if (SORT_KEYS.includes(key)) {
    const isSame = key === view.sortKey;
    return { ...view, sortKey: key, isReversed: isSame && !view.isReversed, skipped: 0 };
  }
  const by = SCROLLS[key];
  if (by === undefined) return undefined;
  return { ...view, skipped: Math.max(0, Math.min(mostSkipped, view.skipped + by)) };
}
