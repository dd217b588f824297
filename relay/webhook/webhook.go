package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/relay"
)

// Limits of a delivery.
const (
	// SecretsMax is how many secrets sign at once, while one replaces another.
	SecretsMax = 4
	// IdleConnsMax is how many connections to the endpoint are kept.
	IdleConnsMax  = 64
	answerReadMax = 4 << 10
)

// Options make a publisher. URL is needed.
type Options struct {
	URL string
	// Secrets gives the secrets that sign, each "whsec_" and base64; it is asked at
	// every delivery, so that one can be replaced. Nil: nothing is signed.
	Secrets func() ([]string, error)
	Header  http.Header // sent along; nil: none
	// Transport does the exchanges; nil: one of its own. Redirects are not followed.
	Transport http.RoundTripper
	Clock     onceward.Clock // nil: SystemClock
}

// Publisher hands events to one endpoint. It is safe for concurrent use.
type Publisher struct {
	opts   Options
	client *http.Client
}

// New returns a publisher. CodeConfigInvalid: the address cannot be used.
func New(o Options) (*Publisher, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "the address of the webhook is not http or https with a host and without an account")
	}
	if o.Clock == nil {
		o.Clock = onceward.SystemClock{}
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost, t.MaxIdleConns, t.Proxy = IdleConnsMax, IdleConnsMax, nil
		o.Transport = t
	}
	return &Publisher{opts: o, client: &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Publish implements relay.Publisher. Any 2xx is a yes. 408, 429, 502, 503, 504
// and no answer mean that the endpoint is out of reach; every other answer
// refuses the event.
func (p *Publisher) Publish(ctx context.Context, e *onceward.OutboxEvent) error {
	body, err := relay.Encode(e)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.opts.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if p.opts.Header != nil {
		req.Header = p.opts.Header.Clone()
	}
	req.Header.Set("Content-Type", relay.ContentType)
	req.Header.Set("User-Agent", "onceward")
	if err := p.sign(req.Header, e.ID, body); err != nil {
		return err
	}
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, answerReadMax) // so that the connection can be used again
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return nil
	case res.StatusCode == http.StatusRequestTimeout, res.StatusCode == http.StatusTooManyRequests,
		res.StatusCode >= http.StatusBadGateway && res.StatusCode <= http.StatusGatewayTimeout:
		return fmt.Errorf("the endpoint answered %d", res.StatusCode)
	}
	return &relay.Refused{Reason: "the endpoint answered " + strconv.Itoa(res.StatusCode), After: retryAfter(res.Header)}
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 24*3600)) * time.Second
}

// sign adds the headers of Standard Webhooks.
func (p *Publisher) sign(h http.Header, id string, body []byte) error {
	at := strconv.FormatInt(p.opts.Clock.Now().Unix(), 10)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", at)
	if p.opts.Secrets == nil {
		return nil
	}
	secrets, err := p.opts.Secrets()
	if err != nil {
		return err
	}
	var signatures []string
	for _, s := range secrets[:min(len(secrets), SecretsMax)] {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
		if err != nil || len(key) == 0 {
			return onceward.Errorf(onceward.CodeConfigInvalid, "a secret of the webhook is not whsec_ and base64")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + at + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	h.Set("Webhook-Signature", strings.Join(signatures, " "))
	return nil
}

// Close implements relay.Publisher.
func (p *Publisher) Close() error {
	p.client.CloseIdleConnections()
	return nil
}
