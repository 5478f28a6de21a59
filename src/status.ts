export type { SeveralSnapshots } from './status/body.ts';
export {
  DEFAULT_STATUS_PORT,
  type SnapshotSource,
  type StatusOptions,
  type StatusServer,
  type StatusSources,
  serveStatus,
  serveStatusFromEnv,
} from './status/serve.ts';
