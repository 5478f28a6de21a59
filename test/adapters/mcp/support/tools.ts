import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

export const WHO = { name: 'test', version: '1.0.0' };

/** What a service with a limit of its own tells the model: nobody's Penstock. */
export const BUSY: CallToolResult = {
  isError: true,
  content: [{ type: 'text', text: '{"error":{"code":"rate_limited","retry_after_seconds":90}}' }],
};

/** `look_up({ id })` answers with its id; some ids are scripts, so that a server in another process needs no other. */
export function lookUpServer(gate: (made: McpServer) => McpServer = (made) => made): McpServer {
  const server = gate(new McpServer(WHO));
  server.registerTool(
    'look_up',
    { inputSchema: { id: z.string() }, outputSchema: { id: z.string() } },
    async ({ id }, { signal, _meta, sendNotification }) => {
      if (id === 'busy') return BUSY;
      if (id === 'never') await new Promise((_, reject) => signal.addEventListener('abort', reject));
      if (id === 'counts') {
        for (const progress of [0, 1, 2]) {
          const params = { progressToken: _meta?.progressToken ?? '', progress, total: 2 };
          await sendNotification({ method: 'notifications/progress', params });
        }
      }
      const told = id === 'meta' ? JSON.stringify(_meta?.penstock ?? 'nothing') : id;
      return answer(told);
    },
  );
  return server;
}

export function answer(id: string): CallToolResult {
  return { content: [{ type: 'text', text: id }], structuredContent: { id } };
}
