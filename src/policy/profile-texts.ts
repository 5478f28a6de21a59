// Written by `npm run profiles` from config/profiles.

/** The policy of each profile, as JSON. */
export const PROFILE_TEXTS: Readonly<Record<string, string>> = {
  "polite-host": "{\"source\":\"unpublished, a cautious guess (profile polite-host)\",\"maxConcurrent\":1,\"throttleStatuses\":[403,429],\"pauseAbove\":\"60s\",\"cooldown\":{\"base\":\"2s\",\"max\":\"60s\"},\"warm\":{\"for\":\"120s\",\"spacing\":\"1s\"},\"retriesOff\":\"nothing to switch off: plain HTTP\"}",
  "science-source": "{\"source\":\"unpublished, a cautious guess (profile science-source)\",\"maxConcurrent\":1,\"maxQueueDepth\":8,\"maxWait\":\"20s\",\"retriesOff\":\"nothing to switch off: plain HTTP\"}",
};
