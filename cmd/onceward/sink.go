package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/crashpoint"
	"github.com/onceward/onceward/relay"
	"github.com/onceward/onceward/relay/kafka"
	"github.com/onceward/onceward/relay/nats"
	"github.com/onceward/onceward/relay/rabbitmq"
	"github.com/onceward/onceward/relay/webhook"
	"github.com/onceward/onceward/worker"
)

// sinkConfig is one destination of the outbox. One of nats, rabbitmq, kafka and
// webhook says which.
type sinkConfig struct {
	Name     string        `yaml:"name"`
	Events   []string      `yaml:"events"`  // patterns of types: "operation.*"
	Tenants  []string      `yaml:"tenants"` // empty: every one
	Tries    int           `yaml:"tries"`
	NATS     *natsSink     `yaml:"nats"`
	RabbitMQ *rabbitMQSink `yaml:"rabbitmq"`
	Kafka    *kafkaSink    `yaml:"kafka"`
	Webhook  *webhookSink  `yaml:"webhook"`
}

type natsSink struct {
	URL     string `yaml:"url"`
	Subject string `yaml:"subject"`
	Stream  string `yaml:"stream"`
}

type rabbitMQSink struct {
	URL          string `yaml:"url"`
	Exchange     string `yaml:"exchange"`
	Queue        string `yaml:"queue"`
	DropUnrouted bool   `yaml:"drop_unrouted"`
}

type kafkaSink struct {
	Brokers []string `yaml:"brokers"`
	Topic   string   `yaml:"topic"`
}

type webhookSink struct {
	URL     string            `yaml:"url"`
	Secrets []string          `yaml:"secrets"` // env:NAME or file:PATH
	Headers map[string]string `yaml:"headers"` // values may be env:NAME or file:PATH
}

var sinkNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

func sinkError(name, message, hint string) error {
	return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: fmt.Sprintf("sink %q: %s", name, message), Hint: hint}
}

// check refuses a sink that cannot be run.
func (s *sinkConfig) check() error {
	kinds := 0
	for _, there := range []bool{s.NATS != nil, s.RabbitMQ != nil, s.Kafka != nil, s.Webhook != nil} {
		if there {
			kinds++
		}
	}
	switch {
	case !sinkNamePattern.MatchString(s.Name):
		return sinkError(s.Name, "the name is lower-case letters, digits, dashes and underscores", "the name is kept with how far the sink is: it has to stay")
	case kinds != 1:
		return sinkError(s.Name, "one of nats, rabbitmq, kafka and webhook says where events go", "")
	case len(s.Events) == 0:
		return sinkError(s.Name, "events is missing", `name the types, such as "operation.*", or "*" for all`)
	case s.Tries < 0:
		return sinkError(s.Name, "tries is negative", "")
	}
	for _, p := range s.Events {
		if _, err := path.Match(p, ""); err != nil {
			return sinkError(s.Name, fmt.Sprintf("the pattern %q cannot be read", p), "* stands for any text")
		}
	}
	return s.checkPlace()
}

func (s *sinkConfig) checkPlace() error {
	missing := func(name string) error { return sinkError(s.Name, name+" is missing", "") }
	switch {
	case s.NATS != nil && s.NATS.URL == "":
		return missing("nats.url")
	case s.NATS != nil && s.NATS.Subject == "":
		return missing("nats.subject")
	case s.RabbitMQ != nil && s.RabbitMQ.URL == "":
		return missing("rabbitmq.url")
	case s.RabbitMQ != nil && s.RabbitMQ.Exchange == "":
		return missing("rabbitmq.exchange")
	case s.Kafka != nil && len(s.Kafka.Brokers) == 0:
		return missing("kafka.brokers")
	case s.Kafka != nil && s.Kafka.Topic == "":
		return missing("kafka.topic")
	case s.Webhook != nil && s.Webhook.URL == "":
		return missing("webhook.url")
	case s.Webhook != nil && len(s.Webhook.Secrets) == 0:
		return sinkError(s.Name, "webhook.secrets is missing", "name one as env:NAME or file:PATH: a receiver that cannot tell who sends takes anything")
	}
	return nil
}

// checkSinks refuses a list that cannot be run.
func checkSinks(sinks []sinkConfig) error {
	seen := map[string]bool{}
	for i := range sinks {
		if err := sinks[i].check(); err != nil {
			return err
		}
		if seen[sinks[i].Name] {
			return sinkError(sinks[i].Name, "the name stands twice", "")
		}
		seen[sinks[i].Name] = true
	}
	return nil
}

// matches reports whether the sink gets events of the type.
func (s *sinkConfig) matches(eventType string) bool {
	for _, p := range s.Events {
		if ok, _ := path.Match(p, eventType); ok { // checked
			return true
		}
	}
	return false
}

func (s *sinkConfig) selects(e *onceward.OutboxEvent) bool {
	if !s.matches(e.Type) {
		return false
	}
	for _, t := range s.Tenants {
		if t == string(e.Tenant) {
			return true
		}
	}
	return len(s.Tenants) == 0
}

// emitFor says which events operations emit: those that a sink gets.
func emitFor(sinks []sinkConfig) func(eventType string) bool {
	wanted := map[string]bool{}
	for _, t := range onceward.OperationEvents() {
		for i := range sinks {
			wanted[t] = wanted[t] || sinks[i].matches(t)
		}
	}
	for _, on := range wanted {
		if on {
			return func(eventType string) bool { return wanted[eventType] }
		}
	}
	return nil
}

// publisher connects nothing yet.
func (s *sinkConfig) publisher() (relay.Publisher, error) {
	switch {
	case s.NATS != nil:
		url, err := reference(s.NATS.URL)
		return nats.New(nats.Options{URL: url, Subject: s.NATS.Subject, Stream: s.NATS.Stream}), err
	case s.RabbitMQ != nil:
		url, err := reference(s.RabbitMQ.URL)
		return rabbitmq.New(rabbitmq.Options{URL: url, Exchange: s.RabbitMQ.Exchange, Queue: s.RabbitMQ.Queue, DropUnrouted: s.RabbitMQ.DropUnrouted}), err
	case s.Kafka != nil:
		return kafka.New(kafka.Options{Brokers: s.Kafka.Brokers, Topic: s.Kafka.Topic}), nil
	}
	header := http.Header{}
	for name, v := range s.Webhook.Headers {
		v, err := reference(v)
		if err != nil {
			return nil, err
		}
		header.Set(name, v)
	}
	secrets := func() (out []string, err error) { // anew each time, so that one can be replaced
		for _, ref := range s.Webhook.Secrets {
			v, err := reference(ref)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	}
	if _, err := secrets(); err != nil {
		return nil, err
	}
	url, err := reference(s.Webhook.URL)
	if err != nil {
		return nil, err
	}
	return webhook.New(webhook.Options{URL: url, Secrets: secrets, Header: header})
}

// reference is a text of the configuration, or what it names.
func reference(v string) (string, error) {
	if name, found := strings.CutPrefix(v, "env:"); found {
		if got, there := os.LookupEnv(name); there {
			return got, nil
		}
		return "", sinkError("", "the variable "+name+" is not set", "")
	}
	if name, found := strings.CutPrefix(v, "file:"); found {
		return readSecret(name)
	}
	return v, nil
}

// relays are the loops that hand events on, and what to close after them.
func (e *engine) relays(sinks []sinkConfig) (loops []worker.Loop, publishers []relay.Publisher, err error) {
	for i := range sinks {
		s := &sinks[i]
		p, err := s.publisher()
		if err != nil {
			return nil, publishers, err
		}
		publishers = append(publishers, p)
		r, err := relay.New(relay.Options{Sink: s.Name, Store: e.store, Publisher: p, Select: s.selects, Owner: e.ledger.Owner(), Tries: s.Tries,
			Crash: crashpoint.FromEnv(), Log: e.log.With(slog.String("loop", "relay")), Meter: e.metrics})
		if err != nil {
			return nil, publishers, err
		}
		loops = append(loops, r)
	}
	return append(loops, relay.NewKeeper(e.store, e.metrics, onceward.SystemClock{})), publishers, nil
}

// closePublishers gives up what the relays held.
func closePublishers(all []relay.Publisher) error {
	var errs []error
	for _, p := range all {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
