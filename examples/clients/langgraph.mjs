// LangGraph.js: the tool is guarded, the model is a script.
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import { guard } from '@onceward/client';
import { client, event, replan } from './replan.mjs';

const createTicket = guard(
  tool(() => { throw new Error('the tool itself must not run'); }, { name: 'create_ticket', description: 'Open a support ticket', schema: z.object({ subject: z.string() }) }),
  { client, contract: 'tickets.create', context: event },
);

class ScriptedModel extends BaseChatModel {
  constructor(script) {
    super({});
    this.script = script;
  }
  _llmType() { return 'scripted'; }
  bindTools() { return this; }
  async _generate() {
    const message = this.script.shift();
    return { generations: [{ message, text: '' }] };
  }
}

await replan(async (subject, id) => {
  const llm = new ScriptedModel([
    new AIMessage({ content: '', tool_calls: [{ id, name: 'create_ticket', args: { subject } }] }),
    new AIMessage('Done.'),
  ]);
  const { messages } = await createReactAgent({ llm, tools: [createTicket] }).invoke({ messages: [{ role: 'user', content: 'Handle the complaint.' }] });
  return messages.find((m) => m.getType() === 'tool').content;
});
