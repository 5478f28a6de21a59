import {
  Client,
  credentials,
  type Metadata,
  Server,
  ServerCredentials,
  type ServiceError,
  status,
} from '@grpc/grpc-js';

/** How the server ends a call: with this error, or with an answer of so many bytes. */
export type GrpcEnd =
  | { readonly code: number; readonly details: string; readonly metadata?: Metadata }
  | { readonly bytes: number };

const UNARY = '/test.Downstream/LookUp';
const STREAMING = '/test.Downstream/Watch';

const asIs = (bytes: Buffer): Buffer => bytes;
const whole = { requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs };

/** A server without a schema: requests and answers are bytes. */
export class GrpcServer {
  /** How the next calls end; undefined: never. */
  end: GrpcEnd | undefined;
  calls = 0;
  readonly #server = new Server();

  async start(): Promise<number> {
    this.#server.addService(
      {
        lookUp: { path: UNARY, requestStream: false, responseStream: false, ...whole },
        watch: { path: STREAMING, requestStream: false, responseStream: true, ...whole },
      },
      {
        lookUp: (_call: unknown, answer: (error: Partial<ServiceError> | null, value?: Buffer) => void) => {
          this.calls++;
          const { end } = this;
          if (end === undefined) return;
          if ('bytes' in end) answer(null, Buffer.alloc(end.bytes));
          else answer(end);
        },
        watch: (call: { write: (part: Buffer) => void; emit: (event: 'error', error: unknown) => void }) => {
          this.calls++;
          call.write(Buffer.from('first'));
          call.emit('error', this.end);
        },
      },
    );
    return new Promise((resolve, reject) => {
      this.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
  }

  /** Ends by its own handle; every client has to be closed before. */
  close(): Promise<void> {
    return new Promise((resolve, reject) => this.#server.tryShutdown((error) => (error ? reject(error) : resolve())));
  }
}

/** The client's own retries are off, and no proxy is looked for in the environment. */
export function grpcClient(port: number, more: object = {}): Client {
  return new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.enable_retries': 0,
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    ...more,
  });
}

/** A call that is answered once. */
export function lookUp(
  client: Client,
  options: { readonly deadline?: number; readonly cancel?: Promise<void> } = {},
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const { deadline, cancel } = options;
    const call = client.makeUnaryRequest(
      UNARY,
      asIs,
      asIs,
      Buffer.from('?'),
      deadline === undefined ? {} : { deadline },
      (error, value) => (error === null ? resolve(value as Buffer) : reject(error)),
    );
    void cancel?.then(() => call.cancel());
  });
}

/** A call that is answered in parts. */
export async function watch(client: Client): Promise<number> {
  let parts = 0;
  for await (const _ of client.makeServerStreamRequest(STREAMING, asIs, asIs, Buffer.from('?'))) parts++;
  return parts;
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

/** A protobuf field that is a number. */
function num(field: number, value: number): number[] {
  return [...varint(field * 8), ...varint(value)];
}

/** A protobuf field that is text or a message. */
function sub(field: number, value: string | readonly number[]): number[] {
  const bytes = typeof value === 'string' ? [...Buffer.from(value)] : value;
  return [...varint(field * 8 + 2), ...varint(bytes.length), ...bytes];
}

function detail(type: string, value: readonly number[]): number[] {
  return sub(3, [...sub(1, `type.googleapis.com/google.rpc.${type}`), ...sub(2, value)]);
}

export function retryInfo(seconds: number, nanos = 0): number[] {
  return detail('RetryInfo', sub(1, [...num(1, seconds), ...num(2, nanos)]));
}

/** What stands before the details that matter, as servers send it. */
export function errorInfo(reason: string): number[] {
  return detail('ErrorInfo', [...sub(1, reason), ...sub(2, 'googleapis.com')]);
}

export function quotaFailure(quotaId: string): number[] {
  return detail('QuotaFailure', sub(1, [...sub(1, 'project:1'), ...sub(2, 'slow down'), ...sub(5, quotaId)]));
}

/** A `google.rpc.Status` with these details, for `grpc-status-details-bin`. */
export function statusDetails(...details: readonly number[][]): Buffer {
  return Buffer.from([...num(1, status.RESOURCE_EXHAUSTED), ...sub(2, 'slow down'), ...details.flat()]);
}
