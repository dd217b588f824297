// OpenAI Agents SDK: the tool is guarded, the model is a script.
import { Agent, Runner, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';
import { guard } from '@onceward/client';
import { client, event, replan } from './replan.mjs';

setTracingDisabled(true);

const createTicket = guard(
  tool({ name: 'create_ticket', description: 'Open a support ticket', parameters: z.object({ subject: z.string() }), execute: () => { throw new Error('the tool itself must not run'); } }),
  { client, contract: 'tickets.create', context: event },
);

const usage = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2, add() {} };

await replan(async (subject, callId) => {
  const script = [
    { type: 'function_call', callId, name: 'create_ticket', arguments: JSON.stringify({ subject }), status: 'completed' },
    { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Done.' }] },
  ];
  const model = {
    getResponse: async () => ({ usage, output: [script.shift()] }),
    getStreamedResponse() { throw new Error('not streamed'); },
  };
  const agent = new Agent({ name: 'support', instructions: 'Handle complaints.', model, tools: [createTicket] });
  const result = await new Runner({ tracingDisabled: true }).run(agent, 'Handle the complaint.');
  const output = result.history.find((item) => item.type === 'function_call_result').output;
  return typeof output === 'string' ? output : output.text;
});
