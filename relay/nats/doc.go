// Package nats hands events to NATS JetStream, and takes messages from it.
package nats
