import { InvalidCall } from '../../base/errors.ts';
import { show } from '../../base/text.ts';
import type { CallContext } from '../../dispatch/context.ts';

/**
 * What the option `context` has returned.
 *
 * @throws {InvalidCall} where that is no context, a promise above all: what is in it would be known too late.
 */
export function givenContext(
  given: unknown,
  about: { readonly downstream?: string; readonly tool?: string | undefined },
) {
  if (given === undefined || given === null) return undefined;
  if (typeof given === 'object' && !('then' in given)) return given as CallContext;
  const { downstream = '', tool } = about;
  const found = typeof given === 'object' ? 'a promise' : show(given);
  const where = downstream === '' ? '' : `${downstream}: `;
  const message = `${where}context: expected a function that returns a context, found one that returns ${found}`;
  throw new InvalidCall(message, { downstream, tool });
}
