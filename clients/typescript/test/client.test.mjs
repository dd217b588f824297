// Against a real server before the bundled provider: ONCEWARD_URL and SIM_URL name them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Onceward, OncewardError, isFinal } from '../dist/index.js';

const baseUrl = process.env.ONCEWARD_URL;
const client = new Onceward({ baseUrl });

async function effects(reference) {
  const effect = await (await fetch(`${process.env.SIM_URL}/effects?reference=${encodeURIComponent(reference)}`)).json();
  return effect.count;
}

test('the same intention in other words is one ticket', async () => {
  const event_id = randomUUID();
  const first = await client.call('tickets.create', { source: 'ts', event_id, subject: 'It broke' });
  const again = await client.call('tickets.create', { source: 'ts', event_id, subject: 'Broken, in other words' });
  assert.equal(first.operation.state, 'succeeded');
  assert.equal(first.decision, 'fresh');
  assert.equal(again.decision, 'replayed');
  assert.equal(again.operation.id, first.operation.id);
  assert.equal(await effects(`ts/${event_id}`), 1);
});

test('a lost answer is asked for again under the same bytes', async () => {
  const event_id = randomUUID();
  const bodies = [];
  let lose = 2;
  const losing = async (url, init) => {
    bodies.push(init.body);
    const response = await fetch(url, init);
    if (lose-- > 0) throw new TypeError('the connection was cut');
    return response;
  };
  const answer = await new Onceward({ baseUrl, fetch: losing, backoffMs: 1 }).call('tickets.create', { source: 'ts', event_id, subject: 'Lost' });
  assert.equal(answer.decision, 'replayed');
  assert.equal(bodies.length, 3);
  assert.equal(new Set(bodies).size, 1);
  assert.equal(await effects(`ts/${event_id}`), 1);
});

test('errors are told apart by code', async () => {
  const event_id = randomUUID();
  await client.call('tickets.create', { source: 'ts', event_id, subject: 'One', priority: 'normal' });
  await assert.rejects(client.call('tickets.create', { source: 'ts', event_id, subject: 'One', priority: 'urgent' }), (error) => {
    assert.ok(error instanceof OncewardError);
    assert.equal(error.code, 'key_reused');
    assert.equal(error.status, 422);
    assert.equal(error.retryable, false);
    assert.match(error.message, /priority/);
    return true;
  });
  await assert.rejects(client.call('no.such.tool', {}), { code: 'tool_not_found', status: 404 });
  await assert.rejects(new Onceward({ baseUrl: 'http://127.0.0.1:1', retries: 0 }).call('tickets.create', {}), { code: 'unreachable', retryable: true });
});

test('submit, get and wait speak of one operation', async () => {
  const answer = await client.submit({ tool: 'tickets.create', input: { source: 'ts', event_id: randomUUID(), subject: 'Wait' }, wait: '0s' });
  const op = await client.wait(answer.operation.id, { timeoutMs: 20_000 });
  assert.ok(isFinal(op));
  assert.equal(op.state, 'succeeded');
  assert.equal((await client.get(op.id)).reference, op.reference);
});

test('whoever stops waiting gets the reason', async () => {
  const controller = new AbortController();
  controller.abort(new Error('enough'));
  await assert.rejects(client.call('tickets.create', { source: 'ts', event_id: randomUUID(), subject: 'x' }, { signal: controller.signal }), /enough/);
});
