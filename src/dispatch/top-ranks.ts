interface Level {
  readonly count: number;
  lower: Level | undefined;
  higher: Level | undefined;
  oldest: Ranked | undefined;
  newest: Ranked | undefined;
}

/** A name and what it has been counted for. */
export interface Ranked {
  readonly name: string;
  count: number;
  /** Of `count`, what may have been another's. */
  error: number;
  level: Level;
  before: Ranked | undefined;
  after: Ranked | undefined;
}

/**
 * Names in order of a count that moves in small steps: names of one count hang together, counts hang together
 * in order (the stream summary of Metwally, Agrawal and El Abbadi 2005), so that a step costs O(1) and the
 * highest are read without looking at the rest.
 */
export class Ranks {
  readonly #byName = new Map<string, Ranked>();
  #lowest: Level | undefined;
  #highest: Level | undefined;

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): Ranked | undefined {
    return this.#byName.get(name);
  }

  /** Counts a name up, or down; at 0 it is let go of. */
  add(name: string, by: number): void {
    const entry = this.#byName.get(name);
    if (entry !== undefined) this.#move(entry, entry.count + by);
    else if (by > 0) this.insert(name, by, 0);
  }

  insert(name: string, count: number, error: number): void {
    const entry = { name, count, error, before: undefined, after: undefined } as unknown as Ranked;
    this.#byName.set(name, entry);
    this.#join(entry, this.#lowest);
  }

  /** The name with the lowest count, of several the one that has had it longest. */
  get lowest(): Ranked | undefined {
    return this.#lowest?.oldest;
  }

  remove(entry: Ranked): void {
    this.#byName.delete(entry.name);
    this.#leave(entry);
  }

  /** The highest `most` names, the highest first. */
  best(most: number): Ranked[] {
    const best: Ranked[] = [];
    for (let level = this.#highest; level !== undefined && best.length < most; level = level.lower) {
      for (let entry = level.oldest; entry !== undefined && best.length < most; entry = entry.after) best.push(entry);
    }
    return best;
  }

  #move(entry: Ranked, count: number): void {
    if (count <= 0) {
      this.remove(entry);
      return;
    }
    const { level } = entry;
    entry.count = count;
    this.#leave(entry);
    // A level that is empty now hangs nowhere any more; its neighbours do.
    this.#join(entry, level.oldest === undefined ? (level.higher ?? level.lower) : level);
  }

  /** Hangs a name where its count belongs, which lies near `from`. */
  #join(entry: Ranked, from: Level | undefined): void {
    const { count } = entry;
    let level = from;
    while (level !== undefined && level.count < count) level = level.higher;
    while (level?.lower !== undefined && level.lower.count >= count) level = level.lower;
    if (level?.count !== count) level = this.#level(count, level === undefined ? this.#highest : level.lower, level);
    entry.level = level;
    entry.before = level.newest;
    entry.after = undefined;
    if (level.newest === undefined) level.oldest = entry;
    else level.newest.after = entry;
    level.newest = entry;
  }

  #level(count: number, lower: Level | undefined, higher: Level | undefined): Level {
    const level: Level = { count, lower, higher, oldest: undefined, newest: undefined };
    if (lower === undefined) this.#lowest = level;
    else lower.higher = level;
    if (higher === undefined) this.#highest = level;
    else higher.lower = level;
    return level;
  }

  #leave({ level, before, after }: Ranked): void {
    if (before === undefined) level.oldest = after;
    else before.after = after;
    if (after === undefined) level.newest = before;
    else after.before = before;
    if (level.oldest !== undefined) return;
    if (level.lower === undefined) this.#lowest = level.higher;
    else level.lower.higher = level.higher;
    if (level.higher === undefined) this.#highest = level.lower;
    else level.higher.lower = level.lower;
  }
}
