/** The version of this package; goes into alerts and instrumentation scopes. */
export const VERSION = '0.1.0';
