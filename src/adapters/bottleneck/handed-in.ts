import { PolicyError } from '../../base/errors.ts';
import { show } from '../../base/text.ts';
import type { Engine, EngineMaker, TurnNeed } from '../../dispatch/engine.ts';
import { engineOf, type LimiterLike } from './limiter.ts';
import { type Settings, settingsOf } from './settings.ts';

/** What is used of a `Bottleneck.Group`. */
export interface GroupLike {
  readonly key: (id: string) => LimiterLike;
}

/** The key under which a group serves calls without an account. */
const NO_ACCOUNT = '';

/**
 * Keeps a Bottleneck limiter that there is already as what hands out the turns of a downstream. A `Bottleneck.Group`
 * gives each `ctx.account` the limiter of its own key, and calls without one that of the key `''`; one limiter is
 * shared by all accounts. Its settings stay yours: it is never changed, stopped or disconnected.
 *
 * @throws {PolicyError} for what is neither a limiter nor a group.
 * @example
 * createDispatcher({ downstreams: { carrier: { maxWait: '20s' } } }, { engines: { carrier: bottleneckEngine(limiter) } });
 */
export function bottleneckEngine(limiter: LimiterLike | GroupLike): EngineMaker {
  if (!isLimiter(limiter) && !isGroup(limiter)) {
    const message = `expected a Bottleneck limiter or a Bottleneck.Group, found ${show(limiter)}`;
    throw new PolicyError([{ path: 'limiter', message }], 'bottleneckEngine');
  }
  return {
    kind: 'bottleneck',
    make: ({ account = NO_ACCOUNT }): Engine => {
      // A group forgets a limiter that was idle for some minutes, and what it has forgotten is not filled any more.
      const own = (): LimiterLike => (isLimiter(limiter) ? limiter : limiter.key(account));
      const settings = (): Settings => {
        try {
          return settingsOf(own()) ?? {};
        } catch {
          // The next job hears of it.
          return {};
        }
      };
      const { minTime } = settings();
      return engineOf(own, {
        mostAsked: Number.POSITIVE_INFINITY,
        leastGapMs: typeof minTime === 'number' ? minTime : 0,
        suits: () => true,
        close: () => undefined,
        weightOf: (need) => weightOf(settings(), need),
        mostPerTurn: () => mostPerTurn(settings()),
        countsPlaces: () => typeof settings().maxConcurrent === 'number',
      });
    },
  };
}

/** No more than there are places; of a nested call nothing where places are counted: its outer call holds one. */
function weightOf({ maxConcurrent }: Settings, { permits, isNested }: TurnNeed): number {
  if (typeof maxConcurrent !== 'number') return permits;
  return isNested ? 0 : Math.min(permits, maxConcurrent);
}

/** A job that weighs more than the limiter can ever let pass at once would wait for ever, and all others behind it. */
function mostPerTurn(settings: Settings): number {
  const { maxConcurrent, reservoirRefreshInterval: refreshes, reservoirIncreaseInterval: increases } = settings;
  const most = [
    maxConcurrent,
    refreshes !== null && increases === null ? settings.reservoirRefreshAmount : null,
    increases !== null && refreshes === null ? settings.reservoirIncreaseMaximum : null,
  ];
  const limits = most.filter((one): one is number => typeof one === 'number');
  return Math.max(1, Math.floor(Math.min(...limits)));
}

export function isLimiter(value: unknown): value is LimiterLike {
  return has(value, 'schedule') && has(value, 'on');
}

function isGroup(value: unknown): value is GroupLike {
  return has(value, 'key') && !has(value, 'schedule');
}

function has(value: unknown, method: string): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, method) === 'function';
}
