import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number;
  readonly doubleValue?: number;
}

interface Attribute {
  readonly key: string;
  readonly value: Value;
}

export interface OtlpSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
}

interface Point {
  readonly attributes: readonly Attribute[];
  readonly count?: number;
  readonly sum?: number;
  readonly explicitBounds?: readonly number[];
}

interface OtlpMetric {
  readonly name: string;
  readonly histogram?: { readonly dataPoints: readonly Point[] };
}

/** What OTLP/HTTP sends as JSON, taken apart. */
export class Receiver {
  readonly spans: OtlpSpan[] = [];
  /** The last of each name. */
  readonly metrics = new Map<string, OtlpMetric>();
  readonly resources: Readonly<Record<string, unknown>>[] = [];
  readonly #server: Server;

  constructor(status = 200) {
    this.#server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      this.#take(JSON.parse(body));
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  }

  /** Its address. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #take({ resourceSpans = [], resourceMetrics = [] }: Record<string, readonly Record<string, unknown>[]>): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resources.push(valuesOf((resource as { attributes: Attribute[] }).attributes));
      for (const { spans } of scopeSpans as readonly { spans: OtlpSpan[] }[]) this.spans.push(...spans);
    }
    for (const { scopeMetrics } of resourceMetrics) {
      for (const { metrics } of scopeMetrics as readonly { metrics: OtlpMetric[] }[]) {
        for (const metric of metrics) this.metrics.set(metric.name, metric);
      }
    }
  }
}

/** Attributes by name. */
export function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.doubleValue]),
  );
}
