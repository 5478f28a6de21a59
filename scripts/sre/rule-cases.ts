import { type Form, label, type MetricKey, type Part, storedName } from './names.ts';

/** What one alert must do with given series. Instants and values as promtool writes them. */
export interface RuleCase {
  readonly alert: string;
  readonly name: string;
  /** Goes on for days: tested apart, worked out every quarter of an hour only. */
  readonly isLong?: boolean;
  /** Between two samples; default a minute. */
  readonly interval?: string;
  readonly series: readonly Series[];
  readonly at: string;
  /** Absent: it must not fire. */
  readonly fires?: Fired;
}

/** What is told, as Prometheus fills it in. */
export interface Fired {
  readonly labels?: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly description: string;
}

/** One input series, under the name of whichever form is tested. */
export type Series = (form: Form) => { readonly series: string; readonly values: string };

type Labels = Readonly<Record<string, string>>;

/** A series of `carrier`, as process `a` of the service `agents` has it unless `labels` says otherwise. */
export function of(key: MetricKey, values: string, labels: Labels = {}, part: Part = ''): Series {
  const own = ['policy', 'alertsDropped'].includes(key) ? {} : { [label('downstream')]: 'carrier' };
  const all = Object.entries({ job: 'agents', instance: 'a', ...own, ...labels });
  const text = all.map(([name, value]) => `${name}="${value}"`).join(',');
  return (form) => ({ series: `${storedName(key, form, part)}{${text}}`, values });
}

export const refused = (values: string, code: string): Series =>
  of('admissions', values, { outcome: 'refused', [label('errorType')]: code });
export const started = (values: string): Series => of('admissions', values, { outcome: 'started' });

export const quiet = (alert: string, name: string, at: string, series: readonly Series[]): RuleCase => ({
  alert,
  name,
  at,
  series,
});

export const fires = (alert: string, name: string, at: string, series: readonly Series[], told: Fired): RuleCase => ({
  ...quiet(alert, name, at, series),
  fires: told,
});

export const long = (one: RuleCase, interval = '1m'): RuleCase => ({ ...one, isLong: true, interval });

function throttled(count: number): Fired {
  const wrong =
    'Penstock keeps below what the policy declares, so the quota in the policy is wrong, or somebody else uses it. Penstock holds the lane by itself; the pushed alert QuotaModelWrong says what it found.';
  return { summary: 'carrier answered agents with a 429', description: `429s in 5 minutes: ${count}. ${wrong}` };
}

const ANY_429 = 'DownstreamThrottled';

/** The very first 429: the counter has been told at 0 before. */
export const FIRST_429 = fires(
  ANY_429,
  'fires for the first 429 there ever was',
  '3m',
  [of('throttled', '0 0 0 1')],
  throttled(1),
);

const ON_429: readonly RuleCase[] = [
  FIRST_429,
  quiet(ANY_429, 'sees nothing where a counter begins with its first 429: why all are told at 0 before', '3m', [
    of('throttled', '_ _ _ 1'),
  ]),
  fires(
    ANY_429,
    'fires once for four processes',
    '3m',
    ['a', 'b', 'c', 'd'].map((instance) => of('throttled', '0 0 0 1', { instance })),
    throttled(4),
  ),
  fires(ANY_429, 'fires for the first 429 after a restart', '3m', [of('throttled', '5 5 0 1')], throttled(1)),
  quiet(ANY_429, 'takes no restart for a 429', '3m', [of('throttled', '5 5 0 0')]),
  quiet(ANY_429, 'is over five minutes after the last 429', '9m', [of('throttled', '0 0 1x10')]),
  fires(
    ANY_429,
    'names the service without its namespace',
    '3m',
    [of('throttled', '0 0 0 1', { job: 'shop/agents' })],
    {
      ...throttled(1),
      summary: 'carrier answered shop/agents with a 429',
      labels: { job: 'shop/agents', service: 'agents' },
    },
  ),
];

const ON_PAUSE: readonly RuleCase[] = [
  fires(
    'DownstreamPaused',
    'fires at once, and says what holds the lane and for how long',
    '1m',
    [
      of('paused', '0 1'),
      of('paused', '0 1', { instance: 'b' }),
      of('hold', '0 600000', { cause: 'quota-reset' }),
      of('hold', '0 0', { cause: 'cooldown' }),
    ],
    {
      summary: 'carrier is paused for agents: new calls are refused',
      description:
        'Processes that refuse new calls at once (RATE_LIMITED): 2. The longest hold (quota-reset) has 600000 ms left. The lane opens by itself when the hold ends.',
    },
  ),
  quiet('DownstreamPaused', 'says nothing of a hold that calls wait out', '2m', [
    of('paused', '0x5'),
    of('hold', '60000x5', { cause: 'retry-after' }),
  ]),
  quiet('DownstreamPaused', 'is over when the lane is open again', '3m', [of('paused', '1 1 0 0')]),
];

/** Waits counted by the minute: those of at most 50 ms, and all, which are done after 2.5 s, or after `slowest` ms. */
function waits(fast: string, all: string, outcome = 'started', slowest: 100 | 2500 = 2500): Series[] {
  const bucket = (le: string, values: string) =>
    of('wait', values, { outcome, le, [label('priority')]: 'normal' }, '_bucket');
  return [
    bucket('50', fast),
    bucket('100', slowest === 100 ? all : fast),
    bucket('2500', all),
    bucket('+Inf', all),
    of('wait', all, { outcome, [label('priority')]: 'normal' }, '_count'),
  ];
}

const RISING = 'DownstreamWaitRising';
const NIGHT_AND_DAY = '0+6x1620';

const ON_WAITS: readonly RuleCase[] = [
  fires(RISING, 'fires where waits are long since an hour', '25h', waits('0+6x1440 8640x180', NIGHT_AND_DAY), {
    summary: 'Calls of agents wait longer for carrier than yesterday',
    description:
      'The p95 wait of the last 10 minutes is 2380 ms. Yesterday at this time it was 48 ms. It has been more than twice that for 15 minutes.',
  }),
  quiet(RISING, 'leaves a rise of three minutes alone', '24h10m', waits('0+6x1440 8640x3 8646+6x100', NIGHT_AND_DAY)),
  quiet(RISING, 'is silent where there was no yesterday', '1h', waits('0x120', '0+6x120')),
  quiet(RISING, 'is silent where nobody called yesterday', '25h', waits('0x1620', '0x1440 0+6x180')),
  quiet(
    RISING,
    'is silent where hardly anybody called yesterday',
    '25h',
    waits('0+1x1440 1440x180', '0+1x1440 1440+6x180'),
  ),
  quiet(
    RISING,
    'is silent where waits are twice as long and still short',
    '25h',
    waits('0+6x1440 8640x180', NIGHT_AND_DAY, 'started', 100),
  ),
  quiet(RISING, 'is silent where hardly anybody calls today', '25h', waits('0+6x1440 8640x180', '0+6x1440 8640+1x180')),
  quiet(RISING, 'is silent where waits are as long as yesterday', '25h', waits('0x1620', NIGHT_AND_DAY)),
  quiet(RISING, 'does not count refusals as waits', '25h', [
    ...waits(NIGHT_AND_DAY, NIGHT_AND_DAY),
    ...waits('0x1620', '0x1440 0+60x180', 'refused'),
  ]),
];

const ON_REFUSALS: readonly RuleCase[] = [
  fires(
    'DownstreamDeadlinesMissed',
    'fires where one call in six is refused by its deadline',
    '8m',
    [started('0+10x10'), refused('0+2x10', 'DEADLINE_EXCEEDED')],
    {
      summary: 'carrier is too slow for the deadlines of agents',
      description:
        '16.67% of the calls of the last 5 minutes were refused because they could not start before their deadline.',
    },
  ),
  quiet('DownstreamDeadlinesMissed', 'leaves one refusal alone', '8m', [
    started('0x10'),
    refused('0 0 0 0 1x10', 'DEADLINE_EXCEEDED'),
  ]),
  quiet('DownstreamDeadlinesMissed', 'leaves less than one in a hundred alone', '8m', [
    started('0+1000x10'),
    refused('0+2x10', 'DEADLINE_EXCEEDED'),
  ]),
  quiet('DownstreamDeadlinesMissed', 'is about deadlines', '8m', [
    started('0+10x10'),
    refused('0+2x10', 'RATE_LIMIT_QUEUE_FULL'),
  ]),
  fires(
    'DownstreamRefusing',
    'fires where a queue is full, and names the code',
    '8m',
    [started('0+10x10'), refused('0+10x10', 'RATE_LIMIT_QUEUE_FULL'), refused('0x10', 'RATE_LIMITED')],
    {
      labels: { error_type: 'RATE_LIMIT_QUEUE_FULL' },
      summary: 'Calls of agents to carrier are refused: RATE_LIMIT_QUEUE_FULL',
      description: '50% of the calls of the last 5 minutes were refused with RATE_LIMIT_QUEUE_FULL.',
    },
  ),
  quiet('DownstreamRefusing', 'leaves deadlines and closing processes to others', '8m', [
    started('0+10x10'),
    refused('0+10x10', 'DEADLINE_EXCEEDED'),
    refused('0+10x10', 'DISPATCHER_CLOSED'),
    refused('0+10x10', 'CANCELLED'),
    refused('0+10x10', 'INVALID_CALL'),
  ]),
  fires(
    'DownstreamCallsInvalid',
    'fires for calls that can never succeed',
    '3m',
    [started('0+10x10'), refused('0 0 3 3', 'COST_EXCEEDS_QUOTA')],
    {
      labels: { error_type: 'COST_EXCEEDS_QUOTA' },
      summary: 'agents calls carrier in a way that cannot succeed: COST_EXCEEDS_QUOTA',
      description:
        'Calls refused with COST_EXCEEDS_QUOTA in 15 minutes: 3. No waiting cures that: the calling code or the policy has to change.',
    },
  ),
  quiet('DownstreamCallsInvalid', 'is not about full queues', '3m', [refused('0 0 3 3', 'RATE_LIMIT_QUEUE_FULL')]),
];

/** All cases about calls. */
export const CALL_CASES: readonly RuleCase[] = [
  ...ON_429,
  ...ON_PAUSE,
  ...ON_WAITS.map((one) => (one.at === '25h' ? long(one) : one)),
  ...ON_REFUSALS,
];
