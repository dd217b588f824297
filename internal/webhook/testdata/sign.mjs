// Signs deliveries with the libraries that the senders publish, and prints them
// as senders.json has them. Run in a folder in which these packages are
// installed; SIGN_AT is the time in Unix seconds.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
const require = createRequire(join(process.cwd(), 'package.json'))
const at = Number(process.env.SIGN_AT ?? 1780000000)
const out = []
const add = (library, scheme, secret, method, url, header, body) => out.push({ library, scheme, secret, at, method, url, header, body })
const json = { 'Content-Type': 'application/json' }

{
  const { Webhook } = require('standardwebhooks')
  const secret = 'whsec_' + Buffer.from('a secret of twenty-four!').toString('base64')
  const body = '{"type":"order.paid","data":{"id":"ö-1"}}'
  add('standardwebhooks 1.1.1', 'standard-webhooks', secret, 'POST', 'https://hooks.example.com/v1/hooks/shop',
    { ...json, 'webhook-id': 'msg_1', 'webhook-timestamp': String(at), 'webhook-signature': new Webhook(secret).sign('msg_1', new Date(at * 1000), body) }, body)
}
{
  const Stripe = require('stripe')
  const stripe = new (Stripe.default ?? Stripe)('sk_test_none')
  const secret = 'whsec_stripe_test_secret'
  const body = JSON.stringify({ id: 'evt_1', object: 'event', type: 'payment_intent.succeeded', data: { object: { id: 'pi_1', metadata: { onceward: 'op_1' } } } }, null, 2)
  add('stripe 23.1.0', 'stripe', secret, 'POST', 'https://hooks.example.com/v1/hooks/stripe',
    { ...json, 'Stripe-Signature': stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: at }) }, body)
}
{
  const { sign } = await import(pathToFileURL(join(process.cwd(), 'node_modules/@octokit/webhooks-methods/dist-node/index.js')).href)
  const bodies = ['{"action":"opened","issue":{"number":7}}']
  if (process.env.SIGN_EXAMPLES) { // every example that the sender publishes
    const { readFileSync } = require('node:fs')
    const all = JSON.parse(readFileSync(join(process.cwd(), 'node_modules/@octokit/webhooks-examples/api.github.com/index.json')))
    bodies.push(...all.flatMap((e) => e.examples.map((x) => JSON.stringify(x))))
  }
  for (const body of bodies) {
    add('@octokit/webhooks-methods 6.0.0', 'github', 'development', 'POST', 'https://hooks.example.com/v1/hooks/github',
      { ...json, 'X-GitHub-Event': 'issues', 'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958', 'X-Hub-Signature-256': await sign('development', body) }, body)
  }
}
{
  // The library only verifies: what is signed by hand here has to pass it.
  const { isValidSlackRequest } = require(join(process.cwd(), 'node_modules/@slack/bolt/dist/receivers/verify-request.js'))
  const { createHmac } = require('node:crypto')
  const body = '{"type":"event_callback","event_id":"Ev1"}'
  const headers = { 'x-slack-request-timestamp': at, 'x-slack-signature': 'v0=' + createHmac('sha256', 'signing').update(`v0:${at}:${body}`).digest('hex') }
  if (!isValidSlackRequest({ signingSecret: 'signing', body, headers, nowMilliseconds: at * 1000 })) throw new Error('not what Slack verifies')
  add('@slack/bolt 5.1.0', 'slack', 'signing', 'POST', 'https://hooks.example.com/v1/hooks/chat',
    { ...json, 'X-Slack-Request-Timestamp': String(at), 'X-Slack-Signature': headers['x-slack-signature'] }, body)
}
{
  const twilio = require('twilio')
  const url = 'https://hooks.example.com/v1/hooks/sms?tenant=a%20b'
  const form = { MessageSid: 'SM1', MessageStatus: 'delivered', To: '+4915112345678', Body: 'Grüße & more', Media: ['b', 'a', 'b'] }
  const body = Object.entries(form).flatMap(([k, v]) => [v].flat().map((x) => encodeURIComponent(k) + '=' + encodeURIComponent(x))).join('&')
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
  add('twilio 6.3.1', 'twilio', 'token', 'POST', url, { ...type, 'X-Twilio-Signature': twilio.getExpectedTwilioSignature('token', url, form) }, body)
  add('twilio 6.3.1', 'twilio', 'shared', 'POST', url,
    { ...type, 'X-Twilio-Webhooks-Signature-Settings': 'key=k1,algorithm=HMAC_SHA256', 'X-Twilio-Signature': twilio.getExpectedTwilioSignature('shared', url, form, 'HMAC_SHA256') }, body)
  const text = '{"events":[1,2]}'
  const digest = url + '&bodySHA256=' + require('node:crypto').createHash('sha256').update(text).digest('hex')
  add('twilio 6.3.1', 'twilio', 'token', 'POST', digest, { ...json, 'X-Twilio-Signature': twilio.getExpectedTwilioSignature('token', digest, {}) }, text)
}
{
  const { Signature } = require('@hubspot/api-client')
  const url = 'https://hooks.example.com/v1/hooks/crm'
  const body = JSON.stringify([{ eventId: 1, subscriptionId: 12345, objectId: 123, occurredAt: 1564113600000 }])
  add('@hubspot/api-client 13.5.0', 'hubspot', 'client-secret', 'POST', url,
    { ...json, 'X-HubSpot-Request-Timestamp': String(at * 1000), 'X-HubSpot-Signature-v3': Signature.getSignature('POST', 'v3', { clientSecret: 'client-secret', url, requestBody: body, timestamp: at * 1000 }) }, body)
}
process.stdout.write(JSON.stringify(out, null, 1) + '\n')
