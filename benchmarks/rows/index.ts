import type { Row } from '../lib/row.ts';
import { bystanders } from './bystanders.ts';
import { calibration } from './calibration.ts';
import { deadline } from './deadline.ts';
import { endings } from './endings.ts';
import { lateness } from './lateness.ts';
import { metrics } from './metrics.ts';
import { recognition } from './recognition.ts';
import { saturation } from './saturated.ts';
import { storms } from './storm.ts';
import { uncontended } from './uncontended.ts';
import { waiters } from './waiters.ts';

/** In the order in which they are run and shown. */
export const ROWS: readonly Row[] = [
  calibration,
  uncontended,
  deadline,
  metrics,
  recognition,
  bystanders,
  waiters,
  ...endings,
  storms,
  ...saturation,
  lateness,
];
