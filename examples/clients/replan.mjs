// What the three agents have in common: a customer's complaint is handled by an agent that runs into its time limit, plans
// anew, and repeats the write in other words and under other call IDs.
import { Onceward } from '@onceward/client';

export const client = new Onceward({ baseUrl: process.env.ONCEWARD_URL });

// The business event, which the program knows and the model does not.
export const event = { source: 'complaints', event_id: process.env.EVENT };

// What the scripted model writes on each run.
export const plans = ['Refund for a broken lamp', 'Broken lamp: the customer wants a refund', 'Lamp arrived broken, refund asked for'];

// How long a run may take until the program plans anew. The first loses its answer on the way.
const patience = [700, 30_000, 30_000];

/** Runs an agent for each plan, as a program does that gives up on a run and starts another. */
export async function replan(run) {
  const said = [];
  for (const [n, plan] of plans.entries()) {
    const late = new Promise((resolve) => setTimeout(resolve, patience[n], undefined));
    const text = await Promise.race([run(plan, `call_${n}_${Math.random().toString(36).slice(2)}`), late]);
    said.push(text === undefined ? { status: 'timed_out' } : JSON.parse(text));
  }
  console.log(JSON.stringify({ said }));
  process.exit(0); // the first run may still wait for its answer
}
