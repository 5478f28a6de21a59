import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages';

/** A chat model that says what it was given to say, and keeps what it was asked. */
export class ScriptedChatModel extends BaseChatModel {
  readonly asked: BaseMessage[][] = [];
  readonly #answers: AIMessage[];

  constructor(...answers: AIMessage[]) {
    super({});
    this.#answers = answers;
  }

  override _llmType(): string {
    return 'scripted';
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]) {
    this.asked.push(messages);
    const message = this.#answers[this.asked.length - 1] ?? new AIMessage('done');
    return { generations: [{ text: '', message }] };
  }
}

/** An answer that calls tools, all at once, each without arguments. */
export function calling(...tools: readonly string[]): AIMessage {
  const calls = tools.map((name) => ({ name, args: {}, id: `call-${name}`, type: 'tool_call' as const }));
  return new AIMessage({ content: '', tool_calls: calls });
}

/** What the messages tell the model of its calls, by tool. */
export function toolMessages(messages: readonly BaseMessage[]): Record<string, unknown> {
  const told = messages.filter((message) => ToolMessage.isInstance(message));
  return Object.fromEntries(
    told.map(({ name, content, tool_call_id, status }) => [name, { content, tool_call_id, status }]),
  );
}
