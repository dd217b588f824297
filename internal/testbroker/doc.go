// Package testbroker runs message brokers for tests, as child processes on
// loopback that can be killed and started again: NATS with JetStream, RabbitMQ
// from its Debian package, and kfake, which speaks Kafka's protocol and is no
// Kafka (none can be had here).
package testbroker
