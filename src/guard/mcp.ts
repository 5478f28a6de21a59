import { bare, child, isCall, isMember, keyName, list, type Syntax } from './syntax.ts';
import type { Tree } from './tree.ts';

/** What the clients of MCP need to know of Penstock's functions. */
export interface Penstock {
  readonly isGate: (call: Syntax) => boolean;
  readonly isNamed: (call: Syntax, name: string) => boolean;
  /** Whether a value is what this function returned. */
  readonly isMadeBy: (value: Syntax, name: string) => boolean;
}

/** What sends the calls of tools by the client itself. */
const DIRECT = /^(?:callTool|callToolStream|request|requestStream|experimental)$/;
/** What lies beside the calls that go by a transport. */
const QUIET = /^(?:close|terminateSession|sessionId|on(?:close|error|message))$/;

/** Whether `client.connect(transport)` gives the transport to a client whose tools are called through `gateClient`. */
export function connectsGated(tree: Tree, call: Syntax, penstock: Penstock): boolean {
  const callee = child(call, 'callee');
  const client = callee !== undefined && isMember(callee) ? child(callee, 'object') : undefined;
  if (callee === undefined || client === undefined || keyName(callee, 'property') !== 'connect') return false;
  if (penstock.isMadeBy(client, 'gateClient')) return true;
  const inner = bare(client);
  const binding = inner.type === 'Identifier' ? tree.bindingOf(inner) : undefined;
  if (binding === undefined || binding.isExported) return false;
  const isGated = (use: Syntax): boolean => {
    const at = tree.parentOf(use);
    const isHandedOver = at !== undefined && isCall(at) && list(at, 'arguments').indexOf(use) > 0;
    return isHandedOver && penstock.isGate(at) && penstock.isNamed(at, 'gateClient');
  };
  const uses = binding.references;
  return uses.some(isGated) && uses.every((use) => isGated(use) || isBeside(tree, use));
}

function isBeside(tree: Tree, use: Syntax): boolean {
  const name = memberOf(tree, use);
  return name !== undefined && !DIRECT.test(name);
}

/** Whether a name is read here for what sends nothing of its own: `transport.close()`. */
export function isQuiet(tree: Tree, use: Syntax): boolean {
  return QUIET.test(memberOf(tree, use) ?? '');
}

/** The `x` of `use.x`. */
function memberOf(tree: Tree, use: Syntax): string | undefined {
  const parent = tree.parentOf(use);
  if (parent === undefined || !isMember(parent) || child(parent, 'object') !== use) return undefined;
  return keyName(parent, 'property');
}
