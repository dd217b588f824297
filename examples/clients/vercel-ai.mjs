// Vercel AI SDK: the tool is guarded, the model is a script.
import { generateText, stepCountIs, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { guard } from '@onceward/client';
import { client, event, replan } from './replan.mjs';

const createTicket = guard(
  tool({ description: 'Open a support ticket', inputSchema: z.object({ subject: z.string() }) }),
  { client, contract: 'tickets.create', context: event },
);

const usage = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };

await replan(async (subject, id) => {
  let step = 0;
  const model = new MockLanguageModelV4({
    doGenerate: async () =>
      step++ === 0
        ? { content: [{ type: 'tool-call', toolCallId: id, toolName: 'createTicket', input: JSON.stringify({ subject }) }], finishReason: { unified: 'tool-calls', raw: undefined }, usage, warnings: [] }
        : { content: [{ type: 'text', text: 'Done.' }], finishReason: { unified: 'stop', raw: undefined }, usage, warnings: [] },
  });
  const result = await generateText({ model, tools: { createTicket }, stopWhen: stepCountIs(3), prompt: 'Handle the complaint.' });
  return result.steps[0].toolResults[0].output;
});
