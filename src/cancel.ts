import { plainName } from './arguments.ts';
import { InvalidCall } from './base/errors.ts';
import { nearest } from './base/nearest.ts';
import { show } from './base/text.ts';
import type { CancelAsk } from './contract.ts';
import type { Request } from './dispatch/request.ts';

const FIELDS: readonly (keyof CancelAsk)[] = ['runId', 'tool', 'downstream'];

/**
 * Which requests an operator means: those of the run and of everything below it, made by the tool.
 * Throws `InvalidCall` where that is not said: without a run or a tool a whole downstream would be meant.
 */
export function readCancel(ask: unknown, reason: unknown): (request: Request) => boolean {
  if (typeof ask !== 'object' || ask === null || Array.isArray(ask)) {
    throw invalid('', 'which', ask, '{ runId, tool, downstream }');
  }
  const { runId, tool, downstream } = ask as CancelAsk;
  const where = downstream === undefined ? '' : plainName(downstream);
  for (const key of Object.keys(ask)) {
    if (FIELDS.includes(key as keyof CancelAsk)) continue;
    throw invalid(where, key, 'a field that is not read', nearest(key, FIELDS) ?? FIELDS.join(', '));
  }
  for (const [field, value] of Object.entries({ runId, tool, downstream })) {
    const isName = typeof value === 'string' && value !== '';
    if (value !== undefined && !isName) throw invalid(where, field, value, 'a name');
  }
  if (runId === undefined && tool === undefined) {
    throw invalid(where, 'which', 'neither', 'a runId or a tool (to stop a whole downstream, pause it)');
  }
  if (typeof reason !== 'string' || reason.trim() === '') throw invalid(where, 'reason', reason, 'a text');
  const below = runId === undefined || runId.endsWith('/') ? runId : `${runId}/`;
  return (request) =>
    (tool === undefined || request.tool === tool) &&
    (below === undefined || request.runId === runId || request.runId?.startsWith(below) === true);
}

function invalid(downstream: string, field: string, found: unknown, expected: string): InvalidCall {
  const told = found === 'neither' ? 'neither' : show(found);
  return new InvalidCall(`cancel: ${field}: expected ${expected}, found ${told}`, { downstream });
}
