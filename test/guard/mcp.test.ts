import { describe, expect, test } from 'vitest';
import { places } from './support/places.ts';

const check = (text: string) => {
  const { found, expected, report } = places(text);
  expect(report.problem).toBeUndefined();
  expect(found).toEqual(expected);
  return report;
};

const IMPORTS =
  "import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'; import { Client } from '@modelcontextprotocol/sdk/client/index.js'; import { gateClient, transportFetch } from 'penstock/mcp'; const client = new Client(info);";
const GATED = "export const notes = gateClient(dispatcher, client, { downstream: 'notes' });";

describe('the transport of an MCP client', () => {
  test.each([
    ['with transportFetch', 'export const t = new StreamableHTTPClientTransport(url, { fetch: transportFetch() });'],
    [
      'with a fetch of yours',
      'export const t = new StreamableHTTPClientTransport(url, { fetch: transportFetch(fetch) });',
    ],
    [
      'of a gated client',
      `const transport = new StreamableHTTPClientTransport(url); await client.connect(transport); ${GATED}`,
    ],
    [
      'of one that is closed',
      `const t = new StreamableHTTPClientTransport(url); client.connect(t); ${GATED} t.close();`,
    ],
    ['written in its place', `await client.connect(new StreamableHTTPClientTransport(url)); ${GATED} client.close();`],
    [
      'of what gateClient returns',
      'const notes = await gateClient(d, client, { downstreams }); notes.connect(new StreamableHTTPClientTransport(url)); notes.callTool({});',
    ],
    [
      'of a client that is gated as it is made',
      'const notes = gateClient(d, new Client(info), o); await notes.connect(new StreamableHTTPClientTransport(url));',
    ],
    [
      'in a callback',
      `const t = new StreamableHTTPClientTransport(url); await watch.allow(() => client.connect(t)); ${GATED}`,
    ],
    [
      'in a function',
      'export async function open() { const c = new Client(info); await c.connect(new StreamableHTTPClientTransport(url)); return gateClient(d, c, o); }',
    ],
  ])('%s', (_, text) => {
    check(`${IMPORTS}\n${text}`);
  });

  test.each([
    ['of a client that nobody gates', 'await client.connect(«new StreamableHTTPClientTransport(url));'],
    ['that is exported', `export const t = «new StreamableHTTPClientTransport(url); client.connect(t); ${GATED}`],
    ['that is closed only', `const t = «new StreamableHTTPClientTransport(url); t.close(); ${GATED}`],
    [
      'of a client that is used itself',
      `client.connect(«new StreamableHTTPClientTransport(url)); ${GATED} client.callTool({});`,
    ],
    ['of a client that is handed on', `client.connect(«new StreamableHTTPClientTransport(url)); ${GATED} use(client);`],
    [
      'of a client that is exported',
      `client.connect(«new StreamableHTTPClientTransport(url)); ${GATED} export { client };`,
    ],
    ['of another client', `other.connect(«new StreamableHTTPClientTransport(url)); ${GATED}`],
  ])('not: %s', (_, text) => {
    check(`${IMPORTS}\n${text}`);
  });

  test('the fix names what is made for it', () => {
    const { findings } = check(`${IMPORTS}\nclient.connect(«new StreamableHTTPClientTransport(url));`);
    expect(findings[0]?.fix).toBe(
      'pass { fetch: transportFetch() } of penstock/mcp, and use its client through gateClient(dispatcher, client, ...) of penstock/mcp only',
    );
  });
});
