import type { Alert } from './base/alert.ts';
import { VERSION } from './version.ts';

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Runs where there is no process. */
export function processEnvironment(): Environment {
  const { process } = globalThis as { process?: { env?: Environment } };
  return process?.env ?? {};
}

/** Who an alert comes from; the hash is read when the alert is made. */
export function originOf(
  instance: string,
  name: string | undefined,
  env: Environment,
  hash: () => string,
): Alert['origin'] {
  const service = name ?? env.OTEL_SERVICE_NAME;
  const environment = env.NODE_ENV;
  return {
    instance,
    version: VERSION,
    get policyHash() {
      return hash();
    },
    ...(service === undefined ? {} : { service }),
    ...(environment === undefined ? {} : { environment }),
  };
}
