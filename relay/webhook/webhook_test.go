package webhook_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	verify "github.com/onceward/onceward/internal/webhook"
	"github.com/onceward/onceward/relay"
	"github.com/onceward/onceward/relay/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	oldSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("the old secret of this test"))
	newSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("the new secret of this test"))
	paid      = onceward.OutboxEvent{ID: "evt_1", Tenant: "acme", Type: "invoice.paid", Source: "/shop", Key: "7", At: time.Unix(1800000000, 0).UTC(), ContentType: "application/json", Data: []byte(`{"id":7}`)}
)

// endpoint takes deliveries and answers with a status.
func endpoint(t *testing.T, answer http.HandlerFunc) *webhook.Publisher {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	p, err := webhook.New(webhook.Options{URL: s.URL + "/in", Secrets: func() ([]string, error) { return []string{newSecret, oldSecret}, nil }, Header: http.Header{"X-Extra": {"1"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// A receiver that knows either secret takes the delivery, and reads the event.
func TestDeliveryIsSignedByStandardWebhooks(t *testing.T) {
	t.Parallel()
	var deliveries []string
	p := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v := verify.Verifier{Scheme: verify.StandardWebhooks, Tolerance: time.Minute}
		for _, secret := range []string{oldSecret, newSecret} {
			if err := v.Verify(&verify.Request{Method: r.Method, URL: r.URL.String(), Header: r.Header, Body: body}, []string{secret}, time.Now()); err != nil {
				t.Errorf("the signature is refused: %v", err)
			}
		}
		if e, err := relay.Decode(body); err != nil || e.Key != "7" || string(e.Data) != `{"id":7}` {
			t.Errorf("the body is %s: %v", body, err)
		}
		if r.Header.Get("X-Extra") != "1" || r.Header.Get("Content-Type") != relay.ContentType {
			t.Errorf("the headers are %v", r.Header)
		}
		deliveries = append(deliveries, r.Header.Get("Webhook-Id"))
		w.WriteHeader(http.StatusAccepted)
	})
	for range 2 {
		if err := p.Publish(t.Context(), &paid); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(deliveries, []string{"evt_1", "evt_1"}) {
		t.Fatalf("the deliveries are %q", deliveries)
	}
}

func TestAnswerOfTheEndpointSaysWhoIsToBlame(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	p := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "90")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(status.Load()))
	})
	for code, want := range map[int]string{200: "taken", 204: "taken", 307: "refused", 400: "refused", 401: "refused", 404: "refused", 410: "refused", 500: "refused",
		408: "away", 429: "away", 502: "away", 503: "away", 504: "away"} {
		status.Store(int64(code))
		err := p.Publish(t.Context(), &paid)
		var r *relay.Refused
		got := "away"
		switch {
		case err == nil:
			got = "taken"
		case errors.As(err, &r):
			got = "refused"
			if r.After != 90*time.Second {
				t.Errorf("%d: try again after %s", code, r.After)
			}
		}
		if got != want {
			t.Errorf("%d: %s, want %s", code, got, want)
		}
	}
}

func TestEndpointThatDoesNotAnswerIsOutOfReach(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	p := endpoint(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	var r *relay.Refused
	if err := p.Publish(ctx, &paid); err == nil || errors.As(err, &r) {
		t.Fatalf("the delivery ended with %v", err)
	}
}

func TestAddressOrSecretThatCannotBeUsedIsSaid(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"", "ftp://x.test", "https://", "https://user:pw@x.test/"} {
		if _, err := webhook.New(webhook.Options{URL: u}); !onceward.Is(err, onceward.CodeConfigInvalid) {
			t.Errorf("%q: %v", u, err)
		}
	}
	p, err := webhook.New(webhook.Options{URL: "http://127.0.0.1:1/", Secrets: func() ([]string, error) { return []string{"whsec_!"}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(t.Context(), &paid); !onceward.Is(err, onceward.CodeConfigInvalid) {
		t.Fatalf("a bad secret: %v", err)
	}
}
