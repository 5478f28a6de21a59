import type { MockLanguageModelV3 } from 'ai/test';

type Generated = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;
type Asked = MockLanguageModelV3['doGenerateCalls'][number];

export const USAGE: Generated['usage'] = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** A model's answer that calls tools, all at once, each without arguments. */
export function calling(...tools: readonly string[]): Generated {
  const content = tools.map((toolName) => ({
    type: 'tool-call' as const,
    toolCallId: `call-${toolName}`,
    toolName,
    input: '{}',
  }));
  return { content, finishReason: { unified: 'tool-calls', raw: undefined }, usage: USAGE, warnings: [] };
}

/** A model's last word. */
export function saying(text: string): Generated {
  return {
    content: [{ type: 'text', text }],
    finishReason: { unified: 'stop', raw: undefined },
    usage: USAGE,
    warnings: [],
  };
}

/** What a request tells the model of the tools it has called, by tool. */
export function toolResults(asked: Asked | undefined): Record<string, unknown> {
  const parts = (asked?.prompt ?? []).flatMap((message) => (message.role === 'tool' ? message.content : []));
  return Object.fromEntries(parts.map((part) => (part.type === 'tool-result' ? [part.toolName, part.output] : [])));
}
