import type { ScriptedModel } from '@openai/agents/testing';

/** What the next request tells the model of its calls, by tool. */
export function toolOutputs({ calls }: ScriptedModel): Record<string, unknown> {
  const { input } = calls[1]!.request;
  if (typeof input === 'string') throw new Error(input);
  const outputs = input.flatMap((item) => (item.type === 'function_call_result' ? [item] : []));
  return Object.fromEntries(outputs.map(({ name, output }) => [name, output]));
}

/** The text that the model gets as one tool's answer. */
export function answerTo(model: ScriptedModel, tool: string): string {
  return (toolOutputs(model)[tool] as { readonly text: string }).text;
}
