import { onTestFinished } from 'vitest';
import { type GateClientOptions, gateClient } from '../../../../src/adapters/mcp.ts';
import { inMemory } from './connections.ts';
import { rig } from './rig.ts';
import { lookUpServer } from './tools.ts';

/** The params of a call of `look_up`. */
export const lookUp = (id: string, _meta?: Record<string, unknown>) => ({
  name: 'look_up',
  arguments: { id },
  ...(_meta && { _meta }),
});

/** A client of a server in this process, closed at the end of the test. */
export async function connected(server: () => ReturnType<typeof lookUpServer> = lookUpServer) {
  const connection = await inMemory(server);
  onTestFinished(() => connection.close());
  return connection;
}

/** A gated client of a server in this process, closed at the end of the test. */
export async function gatedClient(options: Omit<GateClientOptions, 'downstream' | 'downstreams'> = {}) {
  const world = rig();
  const server = lookUpServer();
  const connection = await connected(() => server);
  const client = gateClient(world.dispatcher, connection.client, { downstream: 'notes', ...options });
  /** Takes the two that start at once. */
  const fill = () => Promise.all([client.callTool(lookUp('a')), client.callTool(lookUp('b'))]);
  return { ...world, client, fill, raw: connection.client, server, connection };
}
