import stringWidth from 'string-width';

const SEGMENTS = new Intl.Segmenter();

/** Somebody else's text for a terminal: without control and format characters, on one line. */
export function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\u2028\u2029]/gu, '').trim();
}

/** Columns that a text takes: wide characters take two, combining ones none. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** A text in at most so many columns, with an ellipsis where something was left out. */
export function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width <= 0) return '';
  let kept = '';
  let taken = 0;
  for (const { segment } of SEGMENTS.segment(text)) {
    taken += widthOf(segment);
    if (taken > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** A text in exactly so many columns. */
export function padded(text: string, width: number, isRight = false): string {
  const short = shorten(text, width);
  const blanks = ' '.repeat(Math.max(0, width - widthOf(short)));
  return isRight ? blanks + short : short + blanks;
}

/** A paragraph in lines of so many columns, the later ones indented. */
export function wrap(text: string, width: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line.trim() !== '' && widthOf(longer) > width) {
      lines.push(line);
      line = indent + word;
    } else line = longer;
  }
  return [...lines, line].map((one) => shorten(one, width));
}
