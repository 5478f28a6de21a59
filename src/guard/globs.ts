/** Whether a path, written with `/`, is meant. */
export type Meant = (path: string) => boolean;

/**
 * A pattern for paths: `*` and `?` within one name, `**` over folders, `{a,b}`, `[abc]`. A pattern that
 * names a folder means all in it.
 *
 * @example
 * const isMeant = glob('src/{http,gate}/**');
 * isMeant('src/http/client.ts'); // true
 */
export function glob(pattern: string): Meant {
  const clean = pattern.replace(/^\.\//, '').replace(/\/+$/, '');
  if (clean === '' || clean === '.') return () => true;
  const whole = new RegExp(`^(?:${source(clean, areBalanced(clean))})(?:/.*)?$`, 's');
  return (path) => whole.test(path);
}

interface Rule {
  readonly isMeant: RegExp;
  readonly isFolder: boolean;
  readonly isKept: boolean;
}

/** What a `.gitignore` says of the paths below its folder; undefined where it says nothing. */
export function ignores(text: string): (path: string, isFolder: boolean) => boolean | undefined {
  const rules = text.split(/\r?\n/).flatMap(rule);
  return (path, isFolder) => {
    let said: boolean | undefined;
    for (const one of rules) if (one.isMeant.test(path) && (isFolder || !one.isFolder)) said = !one.isKept;
    return said;
  };
}

function rule(line: string): Rule[] {
  let pattern = line.replace(/(?<!\\)\s+$/, '');
  if (pattern === '' || pattern.startsWith('#')) return [];
  const isKept = pattern.startsWith('!');
  if (isKept) pattern = pattern.slice(1);
  const isFolder = pattern.endsWith('/');
  pattern = pattern.replace(/\/+$/, '');
  // Without a slash before its end it means a name at any depth.
  const isAnywhere = !pattern.includes('/');
  pattern = pattern.replace(/^\//, '');
  return [{ isMeant: new RegExp(`^${isAnywhere ? '(?:.*/)?' : ''}${source(pattern, false)}$`, 's'), isFolder, isKept }];
}

/** Whether every `{` has its `}`; where one has none, all of them stand for themselves, as in a shell. */
function areBalanced(pattern: string): boolean {
  let depth = 0;
  for (const [one] of pattern.matchAll(/\\.|[{}]/gs)) {
    if (one === '{') depth += 1;
    if (one === '}' && depth > 0) depth -= 1;
  }
  return depth === 0;
}

/** Names that a set means; none where it is turned round (`[z-a]`), as in a shell. */
function setOf(set: string): string {
  const written = set.replace('[!', '[^').replaceAll('\\', '\\\\');
  try {
    return new RegExp(written).source;
  } catch {
    return '(?!)';
  }
}

/** A pattern as a regular expression. */
function source(pattern: string, hasBraces = true): string {
  let depth = 0;
  return pattern.replaceAll(
    /\\(.)|(\/\*\*(?=\/|$)|^\*\*\/)|(\*+)|(\?)|(\[!?[^\]]+\])|([{},])|([^\w\s/-])/gs,
    (
      _,
      escaped?: string,
      deep?: string,
      stars?: string,
      one?: string,
      set?: string,
      brace?: string,
      other?: string,
    ) => {
      if (escaped !== undefined) return literal(escaped);
      if (deep !== undefined) return deep === '**/' ? '(?:.*/)?' : '(?:/.*)?';
      if (stars !== undefined) return stars.length > 1 ? '.*' : '[^/]*';
      if (one !== undefined) return '[^/]';
      if (set !== undefined) return setOf(set);
      if (brace !== undefined && hasBraces) {
        if (brace === '{') depth += 1;
        else if (depth === 0) return literal(brace);
        else if (brace === '}') depth -= 1;
        return { '{': '(?:', '}': ')', ',': '|' }[brace]!;
      }
      return literal(brace ?? other ?? '');
    },
  );
}

function literal(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&');
}
