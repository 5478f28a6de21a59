/** Names of a directory that Kubernetes swaps to bring a new version of a ConfigMap: `..data` and its targets. */
const SWAPPED = '..';

/** Signs that files may have changed: what the file system tells, and what can be seen of them without reading. */
export class FileSigns {
  readonly #onSign: () => void;
  #files: readonly string[] = [];
  #noted = '';
  #close: () => Promise<void> = () => Promise.resolve();

  constructor(onSign: () => void) {
    this.#onSign = onSign;
  }

  /** From here on `onSign` is called, as far as the file system tells; paths count from the present directory. */
  async open(files: readonly string[]): Promise<void> {
    const { resolve, dirname, basename } = await import('node:path');
    this.#files = files.map((file) => resolve(file));
    const directories = new Set(this.#files.map((file) => dirname(file)));
    const watched = new Set([...this.#files, ...directories]);
    try {
      const { watch } = await import('chokidar');
      const watcher = watch([...watched], {
        // The rest of a directory is nobody's business here, however much there is of it.
        ignored: (path) => !watched.has(path) && !basename(path).startsWith(SWAPPED),
        persistent: false,
        ignoreInitial: true,
        depth: 0,
      });
      watcher.on('all', this.#onSign);
      // Too many watches, say: what can be seen by looking is enough.
      watcher.on('error', () => undefined);
      this.#close = () => watcher.close();
    } catch {
      // Where there is no such package, looking is enough.
    }
  }

  /** Remembers what the files look like. */
  async note(): Promise<void> {
    this.#noted = await this.#look();
  }

  /** Whether they look otherwise than when it was noted. */
  async haveChanged(): Promise<boolean> {
    return (await this.#look()) !== this.#noted;
  }

  async close(): Promise<void> {
    await this.#close();
  }

  async #look(): Promise<string> {
    const { stat } = await import('node:fs/promises');
    const looks = this.#files.map(async (file) => {
      try {
        const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
        return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
      } catch {
        return '';
      }
    });
    return (await Promise.all(looks)).join('\n');
  }
}
