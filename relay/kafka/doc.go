// Package kafka hands events to Kafka, and takes messages from it.
package kafka
