import { label } from './names.ts';
import { fires, long, of, quiet, type RuleCase, started } from './rule-cases.ts';

const queue = (values: string) => of('queueLength', values, { [label('priority')]: 'normal' });
const GROWING = 'DownstreamQueueGrowing';

const ON_QUEUES: readonly RuleCase[] = [
  fires(GROWING, 'fires where more come in than can start', '35m', [queue('0+5x40')], {
    summary: 'The queue of agents for carrier only grows',
    description:
      'Calls that wait: 175. For 20 minutes more have come in than could start. It grows by 5.0 calls a minute.',
  }),
  quiet(GROWING, 'leaves a fan-out that drains alone', '30m', [queue('0x4 800-10x60')]),
  quiet(GROWING, 'is over as soon as it drains', '26m', [queue('0+30x20 595-5x20')]),
  quiet(GROWING, 'leaves a queue alone that fills and empties within twenty minutes', '19m', [
    queue('0+10x19 0+10x19'),
  ]),
  quiet(GROWING, 'leaves a queue alone that is long and stays so', '35m', [queue('300x40')]),
  quiet(GROWING, 'leaves a queue alone that comes and goes', '35m', [
    queue('0 20 40 60 80 0 20 40 60 80 0 20 40 60 80 0 20 40 60 80 0 20 40 60 80 0 20 40 60 80 0 20 40 60 80 90 99'),
  ]),
  quiet(GROWING, 'leaves a handful of calls alone', '35m', [
    queue('0 1 1 1 1 1 2 2 2 2 2 3 3 3 3 3 4 4 4 4 4 5 5 5 5 5 6 6 6 6 6 7 7 7 7 7'),
  ]),
];

const STALLED = 'DownstreamStalled';
const idle = (values: string) => of('hold', values, { cause: 'retry-after' });
const sized = (values: string) => of('rateSized', values, { quota: '60/minute' });

const ON_LANES: readonly RuleCase[] = [
  fires(
    STALLED,
    'fires where calls wait and none starts, in one process of two',
    '12m',
    [
      queue('3x20'),
      started('7x20'),
      idle('0x20'),
      sized('0.8x20'),
      of('queueLength', '3x20', { instance: 'b', [label('priority')]: 'normal' }),
      of('admissions', '0+6x20', { instance: 'b', outcome: 'started' }),
      of('hold', '0x20', { instance: 'b', cause: 'retry-after' }),
    ],
    {
      summary: 'Nothing starts any more: agents to carrier',
      description:
        'Calls wait, no hold is in force, and none has started for 5 minutes. Processes in which it is so: 1. Most likely every place (maxConcurrent) is held by a call that does not end.',
    },
  ),
  quiet(STALLED, 'leaves a lane alone that is held', '12m', [queue('3x20'), started('7x20'), idle('60000x20')]),
  quiet(STALLED, 'leaves a lane alone whose quota is a few calls an hour', '12m', [
    queue('3x20'),
    started('7x20'),
    idle('0x20'),
    of('rateSized', '0.001x20', { quota: '5/h' }),
  ]),
  quiet(STALLED, 'leaves a lane alone in which nobody waits', '12m', [queue('0x20'), started('7x20'), idle('0x20')]),
  fires('DownstreamOrphaned', 'fires where calls do not end', '7m', [of('orphaned', '0 2x10')], {
    summary: 'Calls of agents to carrier do not end',
    description:
      'Calls that outlived their end and their grace and still have not settled: 2. Each may hold a connection.',
  }),
  quiet('DownstreamOrphaned', 'leaves one alone that ends in the end', '4m', [of('orphaned', '0 2 2 2 2 0x10')]),
];

const mode = (name: string, values: string) => of('mode', values, { mode: name });
const policy = (hash: string, values: string, instance: string) => of('policy', values, { hash, instance });

const ON_MODES: readonly RuleCase[] = [
  fires(
    'DownstreamNotEnforced',
    'fires where a lane was left in observe',
    '195h',
    [mode('observe', '1x800'), mode('enforce', '0x800'), mode('off', '0x800')],
    {
      labels: { mode: 'observe' },
      summary: 'carrier has been in mode observe for more than a week',
      description:
        'Processes of agents that let every call through: 1. A week of observing is enough to judge the limits.',
    },
  ),
  quiet('DownstreamNotEnforced', 'gives a week', '168h', [mode('observe', '1x800'), mode('enforce', '0x800')]),
  quiet('DownstreamNotEnforced', 'is not about enforced lanes', '195h', [
    mode('observe', '0x800'),
    mode('enforce', '1x800'),
  ]),
].map((one) => long(one, '15m'));

const ON_PENSTOCK: readonly RuleCase[] = [
  fires(
    'PenstockAlertsDropped',
    'fires for the first alert that nobody received',
    '3m',
    [of('alertsDropped', '0 0 1 1', { sink: 'slack' })],
    {
      labels: { sink: 'slack' },
      summary: 'Alerts of agents did not reach slack',
      description: 'Alerts dropped in 15 minutes: 1. Until the sink works again, these rules are the only word.',
    },
  ),
  quiet('PenstockAlertsDropped', 'is silent where none was dropped', '3m', [
    of('alertsDropped', '4x5', { sink: 'slack' }),
  ]),
  fires(
    'PenstockPolicySplit',
    'fires where a process did not take the last change',
    '45m',
    [policy('old', '1x60', 'a'), policy('new', '1x60', 'b'), policy('older', '0x60', 'b')],
    {
      summary: 'agents runs several policies at once',
      description:
        'Policies in force for the last 30 minutes: 2. Some processes did not take the last change, or were started with another file or environment.',
    },
  ),
  quiet('PenstockPolicySplit', 'leaves a change alone that is reaching all', '18m', [
    policy('old', '1x10 0x50', 'a'),
    policy('new', '_x10 1x50', 'a'),
    policy('old', '1x20 0x40', 'b'),
    policy('new', '_x20 1x40', 'b'),
  ]),
];

/** All cases about lanes, modes, policies and the outbox. */
export const LANE_CASES: readonly RuleCase[] = [...ON_QUEUES, ...ON_LANES, ...ON_MODES, ...ON_PENSTOCK];
