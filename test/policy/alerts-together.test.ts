import { expect, test } from 'vitest';
import { resolvePolicy } from '../../src/policy/resolve.ts';

const url = 'http://am:9093';

test.each<[object, string]>([
  [{ alertmanager: { url, username: 'joe' } }, 'alerts[0].alertmanager.username: username and passwordFrom'],
  [{ alertmanager: { url, passwordFrom: 'A' } }, 'alerts[0].alertmanager.username: username and passwordFrom'],
  [
    { alertmanager: { url, username: 'j', passwordFrom: 'A', bearerFrom: 'B' } },
    'alertmanager.bearerFrom: expected either',
  ],
  [{ alertmanager: { url, username: 'a:b', passwordFrom: 'A' } }, 'alertmanager.username: a user'],
  [{ alertmanager: { url: `${url}/api/v1` } }, 'alertmanager.url: the API v1 is gone'],
  [{ alertmanager: { url: [url, `${url}/api/v1/alerts/`] } }, 'alertmanager.url[1]: the API v1 is gone'],
  [{ webhook: { url, headersFrom: { 'X-Key': 'A', 'x-key': 'B' } } }, 'headersFrom.x-key: this header is named twice'],
  [
    { webhook: { url, headersFrom: { Authorization: 'A' }, authorizationFrom: 'B' } },
    'headersFrom.Authorization: this header is named twice',
  ],
])('what no process could start with is found by a check of the policy: %j', (sink, expected) => {
  const run = () => resolvePolicy({ downstreams: { c: {} }, alerts: [sink] } as never, { env: {} });
  expect(run).toThrow(expected);
});
