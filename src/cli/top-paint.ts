import { styleText } from 'node:util';
import type { Line, Tone } from './top-view.ts';

const STYLES: Readonly<Record<Tone, Parameters<typeof styleText>[0] | undefined>> = {
  trouble: 'red',
  watch: 'yellow',
  dim: 'dim',
  title: 'bold',
  plain: undefined,
};

/** Lines as text; colour only repeats what the marks say. */
export function paint(lines: readonly Line[], hasColour: boolean): string {
  return lines
    .map(({ text, tone }) => {
      const style = STYLES[tone];
      // It has been asked already whether there is colour, and of the stream that this goes to.
      return hasColour && style !== undefined ? styleText(style, text, { validateStream: false }) : text;
    })
    .join('\n');
}
