// Package rabbitmq hands events to RabbitMQ, and takes messages from it.
package rabbitmq
