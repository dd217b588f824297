// Package watermill hands events to whatever Watermill
// (https://github.com/ThreeDotsLabs/watermill) has a publisher for, and lets a
// consumer handle messages of whatever it has a subscriber for, once each.
//
// It must not know any broker: relay/nats, relay/rabbitmq and relay/kafka make
// publishers and subscribers of theirs. Start reading at publisher.go and
// consumer.go.
package watermill
