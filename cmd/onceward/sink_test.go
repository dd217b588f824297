package main

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/internal/webhook"
	"github.com/onceward/onceward/relay"
)

// The server tells an endpoint of an operation's end, dies before it can note
// that, and its successor tells again under the same ID.
func TestServerThatDiesAfterItPublishedTellsAgainUnderTheSameID(t *testing.T) {
	t.Parallel()
	proctest.Binary(t)
	for name, db := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "ledger.db") },
		"postgres": func(t *testing.T) string { return testdb.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("the secret of this test's endpoint"))
			var mu sync.Mutex
			var ids []string
			told := make(chan struct{}, 10)
			endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				v := webhook.Verifier{Scheme: webhook.StandardWebhooks, Tolerance: time.Minute}
				if err := v.Verify(&webhook.Request{Method: r.Method, Header: r.Header, Body: body}, []string{secret}, time.Now()); err != nil {
					t.Errorf("the delivery is not signed: %v", err)
				}
				if e, err := relay.Decode(body); err != nil || e.Type != "operation.succeeded" || e.ID != r.Header.Get("Webhook-Id") {
					t.Errorf("the delivery is %s: %v", body, err)
				}
				mu.Lock()
				ids = append(ids, r.Header.Get("Webhook-Id"))
				mu.Unlock()
				told <- struct{}{}
			}))
			t.Cleanup(endpoint.Close)
			config := filepath.Join(t.TempDir(), "onceward.yaml")
			text := "sinks:\n  - name: shop\n    events: [operation.succeeded]\n    webhook: {url: \"" + endpoint.URL + "\", secrets: [\"env:SHOP_SECRET\"]}\n"
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			provider := proctest.NewProvider(t)
			srv := simServer(t, db(t), provider, "SHOP_SECRET="+secret)
			srv.Config = config
			srv.Start("relay.after_publish")
			v := victims[0]
			if _, err := srv.Call(t.Context(), v.tool, v.input, 20*time.Second); err != nil {
				t.Logf("the call ended with %v", err) // the server may have died before it answered
			}
			<-told
			srv.AwaitDeath("relay.after_publish")
			srv.Start("")
			select {
			case <-told:
			case <-time.After(60 * time.Second):
				t.Fatal("the event was not told again")
			}
			mu.Lock()
			defer mu.Unlock()
			if len(ids) < 2 || ids[0] != ids[1] {
				t.Fatalf("the deliveries are %q", ids)
			}
		})
	}
}

func TestSinkThatCannotBeRunIsNamed(t *testing.T) {
	t.Parallel()
	hook := &webhookSink{URL: "https://x.test/in", Secrets: []string{"env:X"}}
	all := []string{"*"}
	for want, s := range map[string]sinkConfig{
		"the name":              {Name: "A b", Events: all, Webhook: hook},
		"one of nats":           {Name: "a", Events: all},
		"one of nats, rabbitmq": {Name: "a", Events: all, Webhook: hook, Kafka: &kafkaSink{}},
		"events is missing":     {Name: "a", Webhook: hook},
		"cannot be read":        {Name: "a", Events: []string{"["}, Webhook: hook},
		"nats.subject":          {Name: "a", Events: all, NATS: &natsSink{URL: "nats://x"}},
		"rabbitmq.exchange":     {Name: "a", Events: all, RabbitMQ: &rabbitMQSink{URL: "amqp://x"}},
		"kafka.topic":           {Name: "a", Events: all, Kafka: &kafkaSink{Brokers: all}},
		"webhook.secrets":       {Name: "a", Events: all, Webhook: &webhookSink{URL: "https://x.test"}},
	} {
		if err := checkSinks([]sinkConfig{s}); !onceward.Is(err, onceward.CodeConfigInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	sound := sinkConfig{Name: "a", Events: []string{"operation.succ*", "shop.paid"}, Tenants: []string{"acme"}, Webhook: hook}
	if err := checkSinks([]sinkConfig{sound, sound}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a name that stands twice: %v", err)
	}
	emits := emitFor([]sinkConfig{sound})
	if emits == nil || !emits("operation.succeeded") || emits("operation.failed") || emitFor([]sinkConfig{{Events: []string{"shop.*"}}}) != nil {
		t.Error("operations emit what no sink gets, or not what one does")
	}
	if !sound.selects(&onceward.OutboxEvent{Type: "shop.paid", Tenant: "acme"}) || sound.selects(&onceward.OutboxEvent{Type: "shop.paid", Tenant: "other"}) {
		t.Error("the sink selects another tenant's events, or not its own")
	}
}
