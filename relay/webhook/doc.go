// Package webhook hands events to an HTTP endpoint: a CloudEvent in JSON, signed
// by Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks),
// with the event's ID as webhook-id on every delivery.
package webhook
