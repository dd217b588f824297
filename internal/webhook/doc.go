// Package webhook verifies the signatures of senders of webhooks: Standard
// Webhooks, Stripe, GitHub, Shopify, Slack, Twilio, HubSpot, and HMACs that a
// contract describes. It knows bytes, headers, secrets and a time; what an event
// means, where secrets come from and what is done with a refusal is not its
// matter.
//
// Each scheme is a file section of its own in scheme.go, with the public page
// that describes it. Start reading at verify.go.
package webhook
