package webhook

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// signatureHeaders are where the schemes look.
var signatureHeaders = map[Scheme][]string{
	StandardWebhooks: {"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"},
	Stripe:           {"Stripe-Signature"},
	GitHub:           {"X-Hub-Signature-256"},
	Shopify:          {"X-Shopify-Hmac-Sha256"},
	Slack:            {"X-Slack-Signature", "X-Slack-Request-Timestamp"},
	Twilio:           {"X-Twilio-Signature"},
	HubSpot:          {"X-Hubspot-Signature-V3", "X-Hubspot-Request-Timestamp"},
	HMAC:             {"X-Shop-Signature", "X-Shop-Time"},
}

// FuzzVerify holds that no delivery makes a scheme panic or fail in another way
// than it says, and that whoever has not got the secret signs nothing.
func FuzzVerify(f *testing.F) {
	for _, s := range deliveries(f) {
		var values [3]string
		for i, name := range signatureHeaders[s.Scheme] {
			values[i] = s.request().Header.Get(name)
		}
		f.Add(s.URL, []byte(s.Body), values[0], values[1], values[2])
	}
	f.Add("https://h.example.com/?bodySHA256=00", []byte("a=1&%zz"), "t=9223372036854775807,v1=00", "-1", strings.Repeat("v1,AA== ", 100))
	f.Add(":", []byte{}, "sha256=", "1e3", "v1,")
	f.Fuzz(func(t *testing.T, url string, body []byte, a, b, c string) {
		for _, scheme := range Schemes {
			v := &Verifier{Scheme: scheme, Tolerance: 5 * time.Minute, HMAC: HMACSettings{Header: "X-Shop-Signature", Algorithm: "sha512", Encoding: "hex", TimeIn: "X-Shop-Time", Signs: "{timestamp}.{method}.{url}.{body}"}}
			r := &Request{Method: http.MethodPost, URL: url, Header: http.Header{}, Body: body}
			for i, name := range signatureHeaders[scheme] {
				r.Header.Set(name, []string{a, b, c}[i])
			}
			err := v.Verify(r, []string{"whsec_bm9ib2R5IGtub3dzIHRoaXMgb25l"}, time.Unix(1780000000, 0))
			if !slices.ContainsFunc([]error{ErrMissing, ErrMismatch, ErrStale}, func(known error) bool { return errors.Is(err, known) }) {
				t.Fatalf("%s takes %q with %q %q %q: %v", scheme, body, a, b, c, err)
			}
		}
	})
}
