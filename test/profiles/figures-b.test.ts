import { expect, test } from 'vitest';
import { profileFiles } from '../../scripts/profiles.ts';

/** What a profile says at a path: the value itself, or what its text must hold. */
type Value = string | number | RegExp | readonly (string | number)[];
type Row = readonly [profile: string, path: string, value: Value, source: string];

const ARXIV = 'https://info.arxiv.org/help/api/tou.html';
const CROSSREF = 'https://www.crossref.org/blog/announcing-changes-to-rest-api-rate-limits/';
const CROSSREF_ACCESS = 'https://crossref.org/documentation/retrieve-metadata/rest-api/access-and-authentication/';
const EDGAR = 'https://www.sec.gov/search-filings/edgar-search-assistance/accessing-edgar-data';
const FRED = 'https://fred.stlouisfed.org/docs/api/fred/errors.html';
const GEOCODING = 'https://developers.google.com/maps/documentation/geocoding/usage-and-billing';
const NASDAQ = 'https://docs.data.nasdaq.com/docs/rate-limits-1';
const NCBI = 'https://support.nlm.nih.gov/kbArticle/?pn=KA-05510';
const NOMINATIM = 'https://operations.osmfoundation.org/policies/nominatim/';
const OPENALEX = 'https://developers.openalex.org/api-reference/authentication';
const SENDGRID = 'https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/rate-limits';
const YOUTUBE = 'https://developers.google.com/youtube/v3/determine_quota_cost';
const GAXIOS = 'measured with gaxios 7.3.1';

/** Every figure a second time, from its source. */
const FIGURES: readonly Row[] = [
  ['alpha-vantage', 'quota[0]', '25/day', 'https://www.alphavantage.co/premium/'],
  ['alpha-vantage', 'quota[1]', '1/second', 'https://github.com/finance-quote/finance-quote/issues/546'],
  ['alpha-vantage-premium', 'quota', '75/minute', 'https://www.alphavantage.co/premium/'],
  ['arxiv', 'quota', '1/3s', ARXIV],
  ['arxiv', 'maxConcurrent', 1, ARXIV],
  ['crossref', 'quota', '1/second', CROSSREF],
  ['crossref', 'maxConcurrent', 1, CROSSREF],
  ['crossref', 'requiresUserAgent', /name itself/, 'https://github.com/CrossRef/rest-api-doc#etiquette'],
  ['crossref', 'hosts', ['api.crossref.org'], CROSSREF_ACCESS],
  ['crossref-polite', 'quota', '3/second', CROSSREF],
  ['crossref-polite', 'maxConcurrent', 3, CROSSREF],
  ['crossref-polite', 'requiresUserAgent', /mailto:/, CROSSREF_ACCESS],
  ['finra', 'quota[0]', '20/second', 'https://developer.finra.org/platform-usage-limits'],
  ['finra', 'quota[1]', '1200/minute', 'https://developer.finra.org/docs'],
  ['finra', 'hosts', ['api.finra.org'], 'https://developer.finra.org/index.php/api-request-types'],
  ['fred', 'quota[0]', '120/minute', FRED],
  ['fred', 'quota[1]', '2/second', 'https://pyatl.dev/?p=775'],
  ['fred', 'hosts', ['api.stlouisfed.org'], FRED],
  ['google-maps-geocoding', 'quota', '3000/minute', GEOCODING],
  ['google-maps-geocoding-v4', 'quota', '25/second', `${GEOCODING}?authuser=660&hl=it`],
  ['google-maps-routes', 'quota', '3000/minute', 'https://developers.google.com/maps/documentation/routes/faq'],
  ['nasdaq-data-link', 'quota[0]', '300/10s', NASDAQ],
  ['nasdaq-data-link', 'quota[1]', '2000/10m', NASDAQ],
  ['nasdaq-data-link', 'quota[2]', '50000/day', NASDAQ],
  ['nasdaq-data-link', 'maxConcurrent', 1, NASDAQ],
  ['ncbi', 'quota', '3/second', NCBI],
  ['ncbi', 'hosts', ['eutils.ncbi.nlm.nih.gov'], 'https://support.nlm.nih.gov/kbArticle/?pn=KA-05317'],
  ['ncbi-with-key', 'quota', '10/second', NCBI],
  ['nominatim', 'quota', '1/second', NOMINATIM],
  ['nominatim', 'maxConcurrent', 1, 'http://wiki.openstreetmap.org/wiki/Nominatim_usage_policy'],
  ['nominatim', 'requiresUserAgent', /identifies the application/, NOMINATIM],
  ['nominatim', 'throttleStatuses', [403, 429], NOMINATIM],
  ['nominatim', 'hosts', ['nominatim.openstreetmap.org'], NOMINATIM],
  ['openalex', 'quota[0]', '100/second', OPENALEX],
  ['openalex', 'quota[1]', '1000000 microdollars/day', OPENALEX],
  ['openalex', 'defaultCost.microdollars', 1000, OPENALEX],
  ['openalex', 'throttleStatuses', [403, 429], 'https://developers.openalex.org/api-reference/errors'],
  ['openalex', 'hosts', ['api.openalex.org'], OPENALEX],
  ['openweather', 'quota', '60/minute', 'https://openweathermap.org/full-price.md'],
  ['sec-edgar', 'quota', '10/second', EDGAR],
  ['sec-edgar', 'requiresUserAgent', /name itself and a contact/, EDGAR],
  ['sec-edgar', 'cooldown.ladder', ['10m'], 'https://www.sec.gov/about/privacy-information'],
  [
    'sec-edgar',
    'hosts',
    ['data.sec.gov', 'www.sec.gov', 'efts.sec.gov'],
    'https://www.sec.gov/about/developer-resources',
  ],
  ['sendgrid', 'hosts', ['api.sendgrid.com'], SENDGRID],
  ['wikipedia', 'quota', '200/minute', 'https://www.mediawiki.org/wiki/Wikimedia_APIs/Rate_limits'],
  ['wikipedia', 'maxConcurrent', 1, 'https://www.mediawiki.org/wiki/API:Etiquette'],
  [
    'wikipedia',
    'requiresUserAgent',
    /User-Agent with a way to reach/,
    'https://www.mediawiki.org/wiki/Wikimedia_APIs/Access_policy',
  ],
  ['youtube', 'quota', '10000 units/day', YOUTUBE],
  ['youtube', 'defaultCost.units', 1, YOUTUBE],
  ['youtube', 'retriesOff', /gaxios: retry: false/, GAXIOS],
  ['youtube-search', 'quota', '100/day', YOUTUBE],
  ['youtube-search', 'retriesOff', /gaxios: retry: false/, GAXIOS],
];

/** Values that no provider states: choices of ours, which a slip of the pen must not change either. */
const CHOSEN: readonly (readonly [profile: string, path: string, value: Value | undefined])[] = [
  ['arxiv', 'throttleStatuses', [429, 503]],
  ['google-maps-places', 'quota', '60/minute'],
  ['polite-host', 'quota', undefined],
  ['polite-host', 'maxConcurrent', 1],
  ['polite-host', 'throttleStatuses', [403, 429]],
  ['polite-host', 'pauseAbove', '60s'],
  ['polite-host', 'cooldown.base', '2s'],
  ['polite-host', 'cooldown.max', '60s'],
  ['polite-host', 'warm.for', '120s'],
  ['polite-host', 'warm.spacing', '1s'],
  ['science-source', 'quota', undefined],
  ['science-source', 'maxConcurrent', 1],
  ['science-source', 'maxQueueDepth', 8],
  ['science-source', 'maxWait', '20s'],
  ['sec-edgar', 'throttleStatuses', [403, 429]],
  ['sendgrid', 'quota', '600/minute'],
  ['yahoo-finance', 'quota', '360/hour'],
  ['yahoo-finance', 'maxConcurrent', 1],
  ['yahoo-finance', 'minInterval', '1s'],
  ['yahoo-finance', 'cooldown.ladder', ['1m', '5m', '15m', '60m']],
];

const NAMES = [...new Set([...FIGURES, ...CHOSEN].map(([profile]) => profile))].sort();
const FILES = new Map(profileFiles().map((file) => [file.name, file]));

function fileOf(name: string) {
  const file = FILES.get(name);
  if (file === undefined) throw new Error(`config/profiles/${name}.yaml is missing`);
  return file;
}

/** The value at `quota[1]` or `cooldown.max`. */
function valueAt(policy: unknown, path: string): unknown {
  return path
    .split(/[.[\]]/)
    .filter((part) => part !== '')
    .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], policy);
}

/** Every value of a policy by its path; lists are one value, but for a list of quotas. */
function valuesOf(policy: object): string[] {
  return Object.entries(policy).flatMap(([option, value]): string[] => {
    if (option === 'quota' && Array.isArray(value)) return value.map((_, at) => `quota[${at}]`);
    if (typeof value !== 'object' || Array.isArray(value)) return [option];
    return Object.keys(value).map((key) => `${option}.${key}`);
  });
}

test.each(FIGURES)('%s: %s is %j by %s', (profile, path, value, source) => {
  const { policy, figures } = fileOf(profile);
  const found = valueAt(policy, path);
  if (value instanceof RegExp) expect(found).toMatch(value);
  else expect(found).toEqual(value);
  expect(figures.filter((figure) => figure.path === path).map((figure) => figure.source)).toEqual([source]);
});

test.each(CHOSEN)('%s: %s is %j by our own choice', (profile, path, value) => {
  const { policy, unpublished } = fileOf(profile);
  expect(valueAt(policy, path)).toEqual(value);
  expect(unpublished).toContain(path);
});

test.each(NAMES)('%s: has no figure and no choice that is not stated here', (name) => {
  const { policy, figures, unpublished } = fileOf(name);
  const stated = FIGURES.filter(([profile]) => profile === name).map(([, path]) => path);
  const chosen = CHOSEN.filter(([profile]) => profile === name).map(([, path]) => path);
  expect(figures.map(({ path }) => path).sort()).toEqual([...stated].sort());
  expect([...unpublished].sort()).toEqual([...chosen].sort());
  const told = [...stated, ...chosen, 'hosts', 'retriesOff'];
  expect(valuesOf(policy).filter((path) => !told.includes(path))).toEqual([]);
});

test('profiles without a host are those that share one, and the two that are no API', () => {
  const without = NAMES.filter((name) => fileOf(name).policy.hosts === undefined);
  expect(without).toEqual(['polite-host', 'science-source', 'youtube-search']);
});
