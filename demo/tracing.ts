import { context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { Ask } from './contestant.ts';

export interface Tracing {
  readonly spans: () => ReadableSpan[];
  readonly close: () => Promise<void>;
}

/** Registers the real SDK for the whole process, with an exporter that keeps every span. */
export function startTracing(): Tracing {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
  return {
    spans: () => exporter.getFinishedSpans(),
    async close() {
      await provider.shutdown();
      trace.disable();
      context.disable();
    },
  };
}

/** The span an agent runtime puts around a tool call. */
export function inToolSpan<T>(call: Ask, run: () => Promise<T>): Promise<T> {
  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': call.tool };
  return trace
    .getTracer('demo-agent')
    .startActiveSpan(`execute_tool ${call.tool}`, { attributes }, (span) => ended(span, run));
}

/** The span an instrumented HTTP client puts around a request. */
export function inHttpSpan(run: () => Promise<Response>): Promise<Response> {
  return trace.getTracer('demo-http').startActiveSpan('GET', { kind: SpanKind.CLIENT }, (span) =>
    ended(span, async () => {
      const response = await run();
      span.setAttribute('http.response.status_code', response.status);
      return response;
    }),
  );
}

async function ended<T>(span: Span, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
