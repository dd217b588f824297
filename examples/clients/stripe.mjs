// Stripe's own SDK with another host and port, and nothing else changed.
import Stripe from 'stripe';

const { STRIPE_HOST, STRIPE_PORT, ORDER } = process.env;
const stripe = new Stripe('sk_test_of_the_caller', { host: STRIPE_HOST, port: STRIPE_PORT, protocol: 'http', maxNetworkRetries: 4, telemetry: false });

const charge = await stripe.charges.create({ amount: 4200, currency: 'eur', source: 'tok_visa', metadata: { order: ORDER }, description: 'words of now' });
const again = await stripe.charges.create({ amount: 4200, currency: 'eur', source: 'tok_visa', metadata: { order: ORDER }, description: 'other words, built anew' });
console.log(JSON.stringify({ id: charge.id, again: again.id, order: charge.metadata.order }));
