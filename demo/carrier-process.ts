/**
 * The carrier in a process of its own, so that a client's busy event loop is never the server's.
 * It lives exactly as long as the channel to its parent: however the demo ends, it ends too.
 */
import { openCarrier } from './carrier.ts';
import type { CarrierSettings } from './settings.ts';

// Ctrl-C reaches every process of a terminal; the parent decides when this one ends.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit(0));

const settings = JSON.parse(process.argv[2] ?? '{}') as CarrierSettings;
const carrier = await openCarrier(settings);
process.on('message', (question) => {
  if (question === 'entries') process.send?.({ entries: carrier.entries() });
});
process.send?.({ url: carrier.url });
