import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { lookUpServer } from './tools.ts';

await lookUpServer().connect(new StdioServerTransport());
