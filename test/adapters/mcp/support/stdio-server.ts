import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { gateServer } from '../../../../src/adapters/mcp.ts';
import { createDispatcher } from '../../../../src/index.ts';
import { lookUpServer } from './tools.ts';

// One call a minute, and nobody waits.
const carrier = { quota: '1/minute', utilization: 1, maxQueueDepth: 0 } as const;
const dispatcher = createDispatcher({ downstreams: { carrier } }, { alertSinks: [], env: {} });

const isGated = process.argv.includes('gated');
const server = lookUpServer((made) => (isGated ? gateServer(dispatcher, made, { downstream: 'carrier' }) : made));
await server.connect(new StdioServerTransport());
