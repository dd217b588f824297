import type { OperationAnswer } from './api.js';
import type { CallOptions, Onceward } from './client.js';
import { isFinal } from './client.js';
import { OncewardError } from './error.js';

export interface GuardOptions extends Omit<CallOptions, 'signal'> {
  client: Onceward;
  /** The contract's tool; the framework tool's own name if absent. */
  contract?: string;
  /**
   * What the business knows and the model does not, such as the event that is handled: it is put over the model's own
   * fields, so that no wording of a model and no ID of a call decides what is the same intention.
   */
  context?: object | ((input: Record<string, unknown>) => object);
}

/**
 * Wraps a tool of the Vercel AI SDK, of LangGraph.js (LangChain) or of the OpenAI Agents SDK, so that calling it asks for
 * an operation: the tool's own code does not run any more. What comes back is text for the model. A call that is not
 * settled, and one that failed, are answers too: an exception would invite the framework to call again.
 */
export function guard<T extends object>(tool: T, options: GuardOptions): T {
  const t = tool as Record<string, unknown>;
  const name = options.contract ?? (typeof t['name'] === 'string' ? t['name'] : undefined);
  if (name === undefined) throw new TypeError('guard: a tool without a name needs { contract }');
  const run = (input: unknown) => ask(options, name, record(input));
  if (t['type'] === 'function' && typeof t['invoke'] === 'function') {
    // OpenAI Agents: invoke(context, input as JSON text, details).
    return replaced(tool, { invoke: (_context: unknown, input: string) => run(input === '' ? {} : JSON.parse(input)) });
  }
  if (Array.isArray(t['lc_namespace']) && typeof t['func'] === 'function') {
    // LangChain: a structured tool calls its func with the parsed input.
    return replaced(tool, { func: (input: unknown) => run(input) });
  }
  if ('inputSchema' in tool) {
    // Vercel AI SDK: execute(input, options).
    return replaced(tool, { execute: (input: unknown) => run(input) });
  }
  throw new TypeError('guard: this is no tool of the Vercel AI SDK, LangChain or the OpenAI Agents SDK');
}

function replaced<T extends object>(tool: T, parts: object): T {
  return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, parts);
}

function record(input: unknown): Record<string, unknown> {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as Record<string, unknown>;
  throw new TypeError('guard: the input of a tool is an object');
}

async function ask(options: GuardOptions, name: string, input: Record<string, unknown>): Promise<string> {
  const { client, contract: _, context, ...call } = options;
  const known = typeof context === 'function' ? context(input) : context;
  try {
    return answerText(await client.call(name, { ...input, ...known }, call));
  } catch (error) {
    if (error instanceof OncewardError) return errorText(error);
    throw error;
  }
}

/** What an answer says to a model: what happened, under which operation, and what to do now. */
export function answerText(answer: OperationAnswer): string {
  const op = answer.operation;
  const said: Record<string, unknown> = { status: op.state, operation: op.id, replayed: answer.decision === 'replayed' };
  if (op.reference !== undefined) said['reference'] = op.reference;
  if (op.result?.body !== undefined) said['result'] = op.result.body;
  if (!isFinal(op)) said['settled'] = false;
  if (answer.advice !== undefined) said['advice'] = answer.advice;
  return JSON.stringify(said);
}

function errorText(error: OncewardError): string {
  return JSON.stringify({
    status: error.operation?.state ?? 'refused',
    code: error.code,
    message: error.message,
    operation: error.operationId,
    side_effect_possible: error.sideEffectPossible,
    advice: error.advice,
  });
}
