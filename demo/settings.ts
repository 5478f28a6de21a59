/**
 * Every number of the demo. One second here stands for one minute there: the quota, the nightly
 * sync, the server's latency and the customer's deadline are all sixty times faster. The waits of
 * the retries are not (see `retries.ts`).
 */
export interface Settings {
  /** Tickets the fan-out of the first scene asks for. */
  readonly calls: number;
  /**
   * The fan-out's calls arrive evenly over this time: 200 a second, half of what Bottleneck takes into its
   * queue on a small machine. Faster, and its own bookkeeping would delay the customer only because time
   * is compressed here.
   */
  readonly spreadMs: number;
  /** The sync and the customer run alone this long before each fan-out, and `tailMs` after it. */
  readonly leadMs: number;
  readonly tailMs: number;
  readonly carrier: CarrierSettings;
  /**
   * 250 calls an hour there, at most 5 in any window. In its fullest window Penstock starts 53 of 60, and a
   * sync of 400 an hour takes the other 7: one millisecond of jitter at the edge would then draw a 429.
   */
  readonly syncEveryMs: number;
  readonly customerEveryMs: number;
  /** Half a minute there. */
  readonly customerDeadlineMs: number;
  /** How long a ticket may take: half an hour there. */
  readonly ticketDeadlineMs: number;
  readonly scene2: Scene2Settings;
}

export interface CarrierSettings {
  readonly limit: number;
  readonly windowMs: number;
  readonly latencyMs: number;
  /** More rejections than this within one window, and the carrier answers 503 to everyone for a while. */
  readonly stormAbove: number;
  readonly outageMs: number;
}

export interface Scene2Settings {
  readonly calls: number;
  /** The stranger starts this long after the fan-out and stays for `strangerForMs`. */
  readonly strangerAfterMs: number;
  readonly strangerForMs: number;
  /** Half of the quota: 30 of 60 per second. */
  readonly strangerEveryMs: number;
}

const FULL: Settings = {
  calls: 800,
  spreadMs: 4_000,
  leadMs: 800,
  tailMs: 700,
  carrier: { limit: 60, windowMs: 1_000, latencyMs: 8, stormAbove: 200, outageMs: 2_000 },
  syncEveryMs: 240,
  customerEveryMs: 500,
  customerDeadlineMs: 500,
  ticketDeadlineMs: 30_000,
  scene2: {
    calls: 260,
    strangerAfterMs: 1_500,
    strangerForMs: 4_000,
    strangerEveryMs: 1_000 / 30,
  },
};

/** The demo's own numbers, or the same story with fewer tickets in the first scene and a shorter second one. */
export function settingsFor(calls: number = FULL.calls): Settings {
  if (calls >= FULL.calls) return { ...FULL, calls, spreadMs: (FULL.spreadMs * calls) / FULL.calls };
  const share = calls / FULL.calls;
  return {
    ...FULL,
    calls,
    spreadMs: FULL.spreadMs * share,
    scene2: {
      ...FULL.scene2,
      calls: Math.max(90, Math.round(FULL.scene2.calls * share)),
      strangerAfterMs: 500,
      strangerForMs: 1_200,
    },
  };
}
