import { codesOf, type ProviderCode } from './code-rows.ts';

/** Where libraries and JSON bodies put the name of what went wrong. */
const NAMES = ['code', 'type', 'name', 'error', 'reason', 'title', 'kind', 'id', 'Code'];
const ERROR_NAMES = ['errorCode', 'error_code', 'errorType', 'error_type', 'error_name', 'errorName', 'errcode'];
const ANY = [...NAMES, ...ERROR_NAMES, 'category', 'className', '.tag', 'error_summary', 'classification'];
const AWS = ['name', 'code', 'Code', '__type', 'ErrorCode', 'errorType', 'type', 'x-amzn-errortype'];
const AZURE = ['code', 'name', 'error', 'errorCode', 'x-ms-error-code'];
const GOOGLE = ['reason', 'status', 'code', 'errorCode', 'error_code'];

/** Every code by which a downstream says that it was too much, and where it must stand to say so. */
export const PROVIDER_CODES: readonly ProviderCode[] = [
  ...codesOf('any', 'names that clients and APIs agree on', ANY, {
    throttled: [
      ...['rate_limited', 'rate_limit', 'rate_limits', 'rate_limit_error', 'rate_limit_exceeded'],
      ...['rate_limit_exceeded_error', 'rate_limit_reached', 'request_rate_limit_exceeded', 'api_rate_limit_exceeded'],
      ...['too_many_requests', 'too_many_requests_error', 'too_many_requests_exception', 'request_rate_too_large'],
      ...['throttled', 'throttling', 'throttled_error', 'throttling_error', 'throttled_request', 'request_throttled'],
    ],
    overloaded: ['overloaded', 'overloaded_error', 'service_overloaded', 'server_overloaded', 'engine_overloaded'],
    exhausted: [
      ...['quota_exhausted', 'insufficient_quota', 'daily_limit_exceeded', 'monthly_limit_exceeded'],
      ...['daily_quota_exceeded', 'monthly_quota_exceeded'],
    ],
  }),
  ...codesOf('AWS', 'AWS SDK for JavaScript v3, list of throttling errors; service API references', AWS, {
    throttled: [
      ...['ThrottlingException', 'ThrottledException', 'RequestThrottledException', 'RequestLimitExceeded'],
      ...['ProvisionedThroughputExceededException', 'ProvisionedThroughputExceeded', 'BandwidthLimitExceeded'],
      ...['EC2ThrottledException', 'PriorRequestNotComplete', 'SlowDown', 'KMSThrottlingException', 'KmsThrottled'],
    ],
  }),
  ...codesOf('AWS', 'Smithy trait retryable(throttling)', ['$retryable'], { throttled: ['throttling'] }),
  ...codesOf('Azure', 'Azure Storage, Resource Manager and Entra error codes', AZURE, {
    throttled: [
      ...['ServerBusy', 'Request_ThrottledTemporarily', 'ResourceRequestsThrottled', 'SubscriptionRequestsThrottled'],
      ...['TenantRequestsThrottled', 'TooManyRequestsReceived'],
    ],
  }),
  ...codesOf('Microsoft Graph', 'Graph error responses; Exchange throttling', AZURE, {
    throttled: ['activityLimitReached', 'ApplicationThrottled', 'ErrorExceededConnectionCount'],
    overloaded: ['ErrorServerBusy'],
  }),
  ...codesOf(
    'Azure Cosmos DB for MongoDB',
    'Cosmos DB, common errors',
    ['code'],
    { throttled: [16500] },
    'name Mongo...',
  ),
  ...codesOf('Google', 'Google APIs, reasons of usageLimits and ErrorInfo; BigQuery and YouTube error tables', GOOGLE, {
    throttled: [
      ...['userRateLimitExceeded', 'userRateLimitExceededUnreg', 'servingLimitExceeded', 'concurrentLimitExceeded'],
      ...['jobRateLimitExceeded', 'sharingRateLimitExceeded', 'RESOURCE_TEMPORARILY_EXHAUSTED'],
    ],
    exhausted: ['dailyLimitExceeded', 'dailyLimitExceededUnreg'],
  }),
  ...codesOf(
    'Google',
    'Gemini and Google Cloud quota ids (QuotaFailure, ErrorInfo)',
    ['quotaId', 'quota_id', 'quotaLimit', 'quota_limit'],
    { exhausted: ['PerDay'] },
    'within',
  ),
  ...codesOf('Google', 'Gemini: a quota of 0 is none', ['quotaValue', 'quota_value', 'quota_limit_value'], {
    exhausted: ['0'],
  }),
  ...codesOf('Google FCM', 'FCM v1 error codes', ['errorCode'], { throttled: ['QUOTA_EXCEEDED'] }, '@type of FCM'),
  ...codesOf('Google Ads', 'Google Ads API, QuotaError', ['quotaError', 'quota_error'], {
    throttled: ['RESOURCE_EXHAUSTED', 'RESOURCE_TEMPORARILY_EXHAUSTED'],
  }),
  ...codesOf('Firebase', 'firebase-admin error codes', ['code'], {
    throttled: [
      ...['auth/too-many-requests', 'messaging/message-rate-exceeded', 'messaging/device-message-rate-exceeded'],
      ...['messaging/topics-message-rate-exceeded', 'functions/resource-exhausted'],
    ],
    exhausted: ['auth/quota-exceeded', 'storage/quota-exceeded'],
  }),
  ...codesOf('gRPC', 'gRPC status codes', ['code'], { throttled: [8] }, 'metadata or details'),
  ...codesOf(
    'gRPC, Google, Connect',
    'google.rpc.Code by name',
    ['status', 'code', 'name', 'reason'],
    { throttled: ['RESOURCE_EXHAUSTED'] },
    'no word of a message size',
  ),
  ...codesOf('JSON-RPC servers (tRPC, MCP)', 'tRPC error codes: TOO_MANY_REQUESTS', ['code'], { throttled: [-32029] }),
  ...codesOf(
    'Ethereum nodes',
    'EIP-1474; Infura sends the rate beside it',
    ['code'],
    { throttled: [-32005] },
    'data.rate',
  ),
  ...codesOf('OpenAI', 'OpenAI error codes', ['code', 'type'], {
    overloaded: ['server_is_overloaded'],
    exhausted: ['billing_hard_limit_reached', 'billing_not_active'],
  }),
  ...codesOf('LangChain', '@langchain/core AsyncCaller', ['name'], {
    throttled: ['RateLimitCapacityError'],
    exhausted: ['InsufficientQuotaError'],
  }),
  ...codesOf('Google', 'YouTube: requests of a day; BigQuery and Calendar: a quota of the project', ['reason'], {
    exhausted: ['quotaExceeded'],
  }),
  ...codesOf('Mistral', 'Mistral API errors', ['code', 'type'], { overloaded: ['service_tier_capacity_exceeded'] }),
  ...codesOf('Moonshot', 'Moonshot API errors', ['code', 'type'], { exhausted: ['exceeded_current_quota_error'] }),
  ...codesOf('ElevenLabs', 'ElevenLabs API errors', ['status'], { exhausted: ['quota_exceeded'] }),
  ...codesOf('Slack', '@slack/web-api; Slack Web API errors', ['code'], {
    throttled: ['slack_webapi_rate_limited_error'],
  }),
  ...codesOf('GitHub', 'GitHub GraphQL errors', ['code'], { throttled: ['graphql_rate_limit'] }),
  ...codesOf('Notion', '@notionhq/client', ['code'], { overloaded: ['service_overload'] }),
  ...codesOf('Twilio', 'Twilio error 20429', ['code'], { throttled: [20429] }, 'moreInfo or more_info'),
  ...codesOf(
    'HubSpot',
    'HubSpot API usage: policyName',
    ['policyName'],
    { exhausted: ['DAILY'] },
    'errorType or category of a rate limit',
  ),
  ...codesOf('Salesforce', 'Salesforce API: requests of 24 hours', ['errorCode'], {
    exhausted: ['REQUEST_LIMIT_EXCEEDED'],
  }),
  ...codesOf('monday.com', 'monday.com API, rate limits', ['code', 'error_code'], {
    throttled: [
      ...['ComplexityException', 'COMPLEXITY_BUDGET_EXHAUSTED', 'maxConcurrencyExceeded'],
      'IP_RATE_LIMIT_EXCEEDED',
    ],
  }),
  ...codesOf('Airtable', 'Airtable API errors', ['error', 'type'], {
    exhausted: ['PUBLIC_API_BILLING_LIMIT_EXCEEDED'],
  }),
  ...codesOf('Dropbox', 'Dropbox API errors', ['.tag', 'error_summary'], { throttled: ['too_many_write_operations'] }),
  ...codesOf('X', 'X API v1.1 error 88', ['code'], { throttled: [88] }, 'in a list of errors'),
  ...codesOf('X', 'X API v2 problems', ['title'], { exhausted: ['UsageCapExceeded'] }),
  ...codesOf(
    'Meta',
    'Graph API rate limits; WhatsApp Cloud API error codes',
    ['code'],
    {
      throttled: [
        ...[4, 17, 32, 341, 613, 80000, 80001, 80002, 80003, 80004, 80005, 80006, 80007, 80008, 80009, 80014],
        ...[130429, 131048, 131056],
      ],
    },
    'fbtrace_id, or type OAuthException',
  ),
  ...codesOf('VK', 'VK API errors', ['error_code'], { throttled: [6, 9] }, 'error_msg'),
  ...codesOf(
    'Telegram',
    'MTProto flood errors (GramJS)',
    ['errorMessage'],
    { throttled: ['FLOOD', 'FLOOD_WAIT', 'SLOWMODE_WAIT'] },
    'seconds',
  ),
  ...codesOf('Yelp', 'Yelp Fusion errors', ['code'], {
    throttled: ['TOO_MANY_REQUESTS_PER_SECOND'],
    exhausted: ['ACCESS_LIMIT_REACHED'],
  }),
  ...codesOf('Stack Exchange', 'Stack Exchange API errors', ['error_name'], { throttled: ['throttle_violation'] }),
  ...codesOf('Apigee', 'Apigee policy faults', ['errorcode'], {
    throttled: ['policies.ratelimit.SpikeArrestViolation', 'policies.ratelimit.QuotaViolation'],
  }),
  ...codesOf('Elasticsearch, OpenSearch', 'Elasticsearch rejected executions', ['type'], {
    overloaded: ['es_rejected_execution_exception', 'rejected_execution_exception', 'circuit_breaking_exception'],
  }),
  ...codesOf(
    'Prisma',
    'Prisma Accelerate errors',
    ['code'],
    { throttled: ['P5011'], exhausted: ['P6003'] },
    'clientVersion',
  ),
  ...codesOf('Penstock', 'what a server with a Penstock of its own tells', ['code'], {
    overloaded: ['RATE_LIMIT_QUEUE_FULL', 'RATE_LIMIT_QUEUE_TIMEOUT'],
  }),
  ...codesOf(
    'IETF',
    'draft-ietf-httpapi-ratelimit-headers, problem types',
    ['type'],
    { throttled: ['quota-exceeded', 'abnormal-usage-detected'], overloaded: ['temporary-reduced-capacity'] },
    'the type of a problem',
  ),
];
