import { type AdmissionError, isAdmissionError } from '../../../src/base/errors.ts';

/** A proxy that no operation can touch any more. */
export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** A proxy that throws at whatever is asked of it. */
export function unreadable(): object {
  const refuse = (): never => {
    throw new Error('hands off');
  };
  return new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse, getPrototypeOf: refuse });
}

/** What somebody else's code may throw and hardly anybody expects. */
export const ODD_THROWN: readonly (readonly [name: string, thrown: unknown])[] = [
  ['an object without a prototype', Object.create(null)],
  [
    'an object whose toString throws',
    {
      toString() {
        throw new Error('no text');
      },
    },
  ],
  ['null', null],
  ['undefined', undefined],
  ['a symbol', Symbol('odd')],
  ['a revoked proxy', revoked()],
  ['a proxy that throws', unreadable()],
];

/** What has become of a promise so far. */
export interface Fate {
  state: 'pending' | 'fulfilled' | 'rejected';
  result?: unknown;
}

export function fateOf(promise: Promise<unknown>): Fate {
  const fate: Fate = { state: 'pending' };
  promise.then(
    (result) => Object.assign(fate, { state: 'fulfilled', result }),
    (result: unknown) => Object.assign(fate, { state: 'rejected', result }),
  );
  return fate;
}

/** The refusal that a promise rejects with; a failure of the test for anything else. */
export async function refusalOf(promise: Promise<unknown>): Promise<AdmissionError> {
  const error = await promise.then(
    (value) => new Error(`expected a refusal, got ${String(value)}`),
    (reason: unknown) => reason,
  );
  if (!isAdmissionError(error)) throw error;
  return error;
}
