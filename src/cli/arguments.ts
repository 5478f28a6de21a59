import { type ParseArgsConfig, parseArgs } from 'node:util';
import { messageOf } from '../base/text.ts';

/**
 * The arguments of a command, read.
 *
 * @throws {Error} with the first sentence of what is wrong: the others tell of Node's own options.
 */
export function parsed<const T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new Error(messageOf(error).split('. ')[0]);
  }
}
