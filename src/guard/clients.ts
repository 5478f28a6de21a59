import type { Act, Spec } from './spec.ts';

/** What to do where nothing better fits. */
export const IN_THE_GATE = 'call it inside dispatcher.callDownstream(name, fn)';
export const GATED_FETCH = `${IN_THE_GATE}, or use the fetch that createFetch(dispatcher) of penstock/fetch returns`;

const VERBS = ['request', 'get', 'delete', 'head', 'options', 'post', 'put', 'patch', 'query'];

function all(act: Act, ...names: readonly string[]): Record<string, Act> {
  return Object.fromEntries(names.map((name) => [name, act]));
}

const FETCH_LIKE: Spec = {
  packages: [
    'node-fetch',
    'node-fetch-native',
    'node-fetch-commonjs',
    'cross-fetch',
    'isomorphic-fetch',
    'isomorphic-unfetch',
    'unfetch',
    'whatwg-fetch',
    'make-fetch-happen',
    'minipass-fetch',
    'npm-registry-fetch',
    '@adobe/fetch',
    '@whatwg-node/fetch',
    'undici-fetch',
    'redaxios',
    'bent',
    'phin',
    'centra',
    'xhr',
    'r2',
    'hyperquest',
    'popsicle',
    'teeny-request',
    'simple-get',
    'urllib',
    'request-promise',
    'request-promise-native',
    'requestretry',
    'request',
    'needle',
    'superagent',
  ],
  self: 'request',
  members: {
    ...all('request', ...VERBS, 'del', 'fetch', 'json', 'curl', 'concat', 'teenyRequest', 'unpromisified'),
    ...all('create', 'agent', 'defaults', 'create'),
    ...all('construct', 'HttpClient'),
  },
  transport: [],
  fix: GATED_FETCH,
};

const HTTP: Spec = {
  packages: ['http', 'https'],
  members: { ...all('request', 'request', 'get'), ...all('construct', 'ClientRequest') },
  transport: [],
  fix: IN_THE_GATE,
};

const UNDICI: Spec = {
  packages: ['undici'],
  members: {
    ...all('request', 'fetch', 'request', 'stream', 'pipeline', 'connect', 'upgrade'),
    ...all('construct', 'Client', 'Pool', 'BalancedPool', 'RoundRobinPool', 'H2CClient', 'EventSource'),
    ...Object.fromEntries(
      ['Agent.new', 'ProxyAgent.new', 'RetryAgent.new', 'EnvHttpProxyAgent.new', 'getGlobalDispatcher.()'].flatMap(
        (holder) =>
          ['request', 'stream', 'pipeline', 'connect', 'upgrade', 'dispatch'].map((method) => [
            `${holder}.${method}`,
            'request' as const,
          ]),
      ),
    ),
  },
  transport: ['dispatcher'],
  viaGlobalDispatcher: /^(?:(?:fetch|request|stream|pipeline|connect|upgrade|EventSource)$|getGlobalDispatcher\b)/,
  fix: `${IN_THE_GATE}, or compose the gate of penstock/undici into the dispatcher that it uses`,
};

const AXIOS: Spec = {
  packages: ['axios', 'axios/unsafe'],
  self: 'request',
  members: {
    ...all('request', ...VERBS, 'postForm', 'putForm', 'patchForm', 'Axios.prototype.request'),
    ...all('create', 'create'),
    ...all('construct', 'Axios'),
  },
  transport: ['adapter', 'env.fetch'],
  fix: `${IN_THE_GATE}, or create it with { adapter: 'fetch', env: { fetch: createFetch(dispatcher) } }`,
};

const GOT: Spec = {
  packages: ['got'],
  self: 'request',
  members: {
    ...all('request', 'got', ...VERBS, 'stream', 'paginate'),
    ...all('create', 'extend', 'got.extend', 'create'),
  },
  transport: ['request'],
  fix: `${IN_THE_GATE}, with retry: { limit: 0 }`,
};

const KY: Spec = {
  packages: ['ky', 'ky-universal'],
  self: 'request',
  members: { ...all('request', 'ky', ...VERBS), ...all('create', 'create', 'extend') },
  transport: ['fetch'],
  usesGlobalFetch: true,
  fix: 'ky.create({ fetch: createFetch(dispatcher), retry: 0 }), with createFetch of penstock/fetch',
};

const OFETCH: Spec = {
  packages: ['ofetch'],
  self: 'request',
  members: {
    ...all('request', 'ofetch', '$fetch', 'fetch', 'raw', 'native'),
    ...all('create', 'createFetch', 'ofetch.create', '$fetch.create'),
  },
  transport: ['fetch'],
  usesGlobalFetch: true,
  fix: "ofetch's createFetch({ fetch: ... }) with the fetch that createFetch(dispatcher) of penstock/fetch returns",
};

const WRETCH: Spec = {
  packages: ['wretch'],
  self: 'create',
  members: all('create', 'wretch'),
  transport: [],
  usesGlobalFetch: true,
  fix: 'give it .fetchPolyfill(createFetch(dispatcher)), with createFetch of penstock/fetch',
};

/** HTTP clients: whoever calls them sends a request. */
export const CLIENTS: readonly Spec[] = [
  FETCH_LIKE,
  HTTP,
  UNDICI,
  AXIOS,
  GOT,
  KY,
  OFETCH,
  WRETCH,
  { packages: ['http2'], members: all('create', 'connect'), transport: [], fix: IN_THE_GATE },
  {
    packages: ['http2-wrapper'],
    members: all('request', 'request', 'get', 'auto'),
    transport: [],
    fix: IN_THE_GATE,
  },
  {
    packages: ['follow-redirects'],
    members: all('request', 'http.request', 'http.get', 'https.request', 'https.get'),
    transport: [],
    fix: IN_THE_GATE,
  },
  {
    packages: ['gaxios'],
    members: { ...all('request', 'request', 'instance'), ...all('construct', 'Gaxios') },
    transport: ['adapter', 'fetchImplementation'],
    usesGlobalFetch: true,
    fix: 'new Gaxios({ fetchImplementation: createFetch(dispatcher) }), with createFetch of penstock/fetch',
  },
  {
    packages: ['graphql-request'],
    self: 'request',
    members: { ...all('request', 'request', 'rawRequest', 'batchRequests'), ...all('construct', 'GraphQLClient') },
    transport: ['fetch'],
    usesGlobalFetch: true,
    fix: 'new GraphQLClient(url, { fetch: createFetch(dispatcher) }), with createFetch of penstock/fetch',
  },
  {
    packages: ['eventsource'],
    self: 'construct',
    members: all('construct', 'EventSource'),
    transport: ['fetch'],
    usesGlobalFetch: true,
    fix: 'new EventSource(url, { fetch: createFetch(dispatcher) }), with createFetch of penstock/fetch',
  },
];

/** What sends without an import. */
export const GLOBALS: Spec = {
  packages: ['global'],
  members: {
    ...all('request', 'fetch', 'navigator.sendBeacon', 'Bun.fetch', '$fetch'),
    ...all('construct', 'XMLHttpRequest', 'EventSource'),
  },
  transport: ['dispatcher'],
  usesGlobalFetch: true,
  fix: GATED_FETCH,
};
