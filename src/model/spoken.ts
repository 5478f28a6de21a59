/** A thing is said again after this long, if it still is so. */
const HOUR_MS = 3_600_000;
/** Where many lanes report under one downstream and each says something else, the first few have to do. */
const MOST_PER_HOUR = 4;
/** A share of the quota that differs by less is the same share. */
const SAME_SHARE = 0.2;

interface Said {
  readonly by: object;
  readonly what: number;
  readonly at: number;
}

/**
 * What has been said of a downstream without any 429: each thing once per hour, whatever lane it comes
 * from, until it changes. Instants are monotonic milliseconds.
 */
export class Spoken {
  #said = new Map<string, Said[]>();

  /** Whether the limit of a quota is worth saying (again); if so it counts as said. `by`: the lane. */
  limit(by: object, quota: string, limit: number, now: number): boolean {
    return this.#say(`limit ${quota}`, { by, what: limit, at: now }, (said) => said.what === limit);
  }

  /** The limit is the declared one: what that lane said before is over. */
  limitIsDeclared(by: object, quota: string): void {
    const key = `limit ${quota}`;
    const said = this.#said.get(key);
    if (said?.some((one) => one.by === by && Number.isFinite(one.what)))
      this.#said.set(
        key,
        said.map((one) => (one.by === by ? { ...one, what: Number.NaN } : one)),
      );
  }

  /** Whether the share that others take is worth saying (again); if so it counts as said. */
  share(by: object, quota: string, share: number, now: number): boolean {
    return this.#say(
      `share ${quota}`,
      { by, what: share, at: now },
      (said) => said.by !== by || Math.abs(said.what - share) < SAME_SHARE,
    );
  }

  #say(key: string, saying: Said, isSame: (said: Said) => boolean): boolean {
    const recent = (this.#said.get(key) ?? []).filter(({ at }) => saying.at < at + HOUR_MS);
    const last = recent.findLast((said) => said.by === saying.by) ?? recent.at(-1);
    const isOld = last !== undefined && (isSame(last) || recent.some((said) => said.by !== saying.by && isSame(said)));
    if (isOld || recent.length >= MOST_PER_HOUR) return false;
    this.#said.set(key, [...recent, saying]);
    return true;
  }
}
