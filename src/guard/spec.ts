/**
 * What using an export comes to: `request` sends when it is called, `create` makes a client when it is
 * called, `construct` makes one with `new`.
 */
export type Act = 'request' | 'create' | 'construct';

/** What the guard knows of one package, or of several that are alike. */
export interface Spec {
  /** Names of packages; a pattern for families. */
  readonly packages: readonly string[] | RegExp;
  /** What the package's own export is, where it can be called. */
  readonly self?: Act;
  /** By the way from the package: `get`, or `https.get`. What is not named here sends nothing. */
  readonly members?: Readonly<Record<string, Act>>;
  /** More members, for families whose names follow a rule. */
  readonly memberOf?: (name: string, packageName: string) => Act | undefined;
  /** Options that hold what sends the requests: `fetch`, or `request.fetch`. */
  readonly transport: readonly string[];
  /** Which argument the options are; default: every one is looked at. */
  readonly optionsAt?: number;
  /** Whether it sends through Node's global `fetch` unless told otherwise. */
  readonly usesGlobalFetch?: boolean;
  /** Members that send through undici's global dispatcher unless told otherwise, where not all do. */
  readonly viaGlobalDispatcher?: RegExp;
  /** What to do. */
  readonly fix: string;
}

/** The name of the package in an import: without a path inside, a version, or where it comes from. */
export function packageOf(module: string): { readonly name: string; readonly inside: string } {
  const [scopeOrName = '', ...rest] = module.replace(/^(?:npm|jsr):\/?/, '').split('/');
  const name = scopeOrName.startsWith('@') && rest.length > 0 ? `${scopeOrName}/${rest.shift()}` : scopeOrName;
  return { name: name.replace(/(?<=.)@.*$/, (found) => (found.includes('/') ? found : '')), inside: rest.join('/') };
}
