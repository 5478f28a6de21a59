type SdkNode = typeof import('@opentelemetry/sdk-node');

/** Loads what only `startTelemetry` needs. */
export interface Peers {
  readonly sdkNode: SdkNode;
  /** One of the packages that the SDK brings with it, in the SDK's own version. */
  readonly partOfSdk: (name: string) => unknown;
}

const SDK = '@opentelemetry/sdk-node';
const INSTALL = 'npm install @opentelemetry/api@~1.9.0 @opentelemetry/sdk-node@0.223.0';

/** @throws Error that names what to install where the SDK is missing. */
export async function loadPeers(from: string = import.meta.url): Promise<Peers> {
  const { createRequire } = await import('node:module');
  const own = createRequire(from);
  const sdkNode = orInstall(SDK, () => own(SDK)) as SdkNode;
  // Whatever package manager installed it: what the SDK depends on is found from where it stands.
  const ofSdk = createRequire(own.resolve(SDK));
  return { sdkNode, partOfSdk: (name) => orInstall(name, () => ofSdk(name)) };
}

function orInstall(name: string, load: () => unknown): unknown {
  try {
    return load();
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    const isMissing = code === 'MODULE_NOT_FOUND' && String(message).includes(`'${name}'`);
    if (!isMissing) throw error;
    const hint = name === SDK ? INSTALL : `npm install ${name}`;
    throw new Error(`startTelemetry needs ${name}, which is not installed: ${hint}`, { cause: error });
  }
}
