/** The defaults: the schema shows them, the resolver applies them. */
export const DEFAULTS = {
  utilization: 0.8,
  workers: 1,
  lowerShare: 0.2,
  maxAccounts: 10_000,
  pauseAbove: '5m',
  cooldownBase: '2s',
  cooldownMax: '60s',
  /** Longest default of `warm.for`. */
  warmMost: '120s',
  warmWithoutQuota: '60s',
  rateFactor: 0.5,
  spacing: '1s',
  maxRun: '10m',
  leaseGrace: '30s',
  maxHold: '24h',
  whilePaused: 'refuse',
  priority: 'normal',
  fairness: 'runs',
  throttleStatuses: [429],
} as const;

/** What one entry of `hosts` may be, to follow "expected". */
export const HOST_WORDS = 'a host name without scheme or path, such as api.example.com';
