package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// signed is a delivery that a sender's own library has signed.
type signed struct {
	Library, Method, URL, Secret, Body string
	Scheme                             Scheme
	At                                 int64
	Header                             map[string]string
}

func (s *signed) request() *Request {
	h := http.Header{}
	for name, value := range s.Header {
		h.Set(name, value)
	}
	return &Request{Method: s.Method, URL: s.URL, Header: h, Body: []byte(s.Body)}
}

func (s *signed) verifier() *Verifier { return &Verifier{Scheme: s.Scheme, Tolerance: 5 * time.Minute} }

func (s *signed) at() time.Time { return time.Unix(s.At, 0) }

// deliveries reads what testdata/sign.mjs made, and two that no library makes.
func deliveries(t testing.TB) []signed {
	t.Helper()
	data, err := os.ReadFile("testdata/senders.json")
	if err != nil {
		t.Fatal(err)
	}
	all := parseSigned(t, data)
	const body = `{"id":820982911946154508}`
	all = append(all, signed{Library: "as the page says", Scheme: Shopify, Secret: "hush", Method: "POST", At: all[0].At, Body: body,
		Header: map[string]string{"X-Shopify-Hmac-Sha256": base64.StdEncoding.EncodeToString(macOf("hush", body)), "X-Shopify-Event-Id": "e1"}})
	return all
}

func parseSigned(t testing.TB, data []byte) []signed {
	t.Helper()
	var all []signed
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func macOf(secret, text string) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return m.Sum(nil)
}

func TestWhatSendersSignIsTaken(t *testing.T) {
	t.Parallel()
	seen := map[Scheme]bool{HMAC: true}
	for _, d := range deliveries(t) {
		seen[d.Scheme] = true
		if err := d.verifier().Verify(d.request(), []string{d.Secret}, d.at()); err != nil {
			t.Errorf("%s (%s): %v", d.Scheme, d.Library, err)
		}
	}
	for _, s := range Schemes {
		if !seen[s] {
			t.Errorf("nothing is signed by %s", s)
		}
	}
}

// other is a secret of the scheme that has signed nothing.
func other(s Scheme) string {
	if s == StandardWebhooks {
		return "whsec_" + base64.StdEncoding.EncodeToString([]byte("another secret of its own"))
	}
	return "another"
}

func TestOldAndNewSecretAreBothTakenWhileOneReplacesTheOther(t *testing.T) {
	t.Parallel()
	for _, d := range deliveries(t) {
		for _, secrets := range [][]string{{d.Secret, other(d.Scheme)}, {other(d.Scheme), d.Secret}} {
			if err := d.verifier().Verify(d.request(), secrets, d.at()); err != nil {
				t.Errorf("%s: %v", d.Scheme, err)
			}
		}
		if err := d.verifier().Verify(d.request(), []string{other(d.Scheme)}, d.at()); !errors.Is(err, ErrMismatch) {
			t.Errorf("%s with another secret: %v", d.Scheme, err)
		}
	}
}

func TestChangedBodyIsRefused(t *testing.T) {
	t.Parallel()
	for _, d := range deliveries(t) {
		for i := range d.Body {
			r := d.request()
			r.Body[i] ^= 1
			if err := d.verifier().Verify(r, []string{d.Secret}, d.at()); err == nil {
				t.Errorf("%s: byte %d of the body was changed, and it passed", d.Scheme, i)
			}
		}
		r := d.request()
		if r.Body = append(r.Body, "&a=b"...); d.verifier().Verify(r, []string{d.Secret}, d.at()) == nil {
			t.Errorf("%s: the body was prolonged, and it passed", d.Scheme)
		}
	}
}

func TestChangedURLIsRefusedWhereItIsSigned(t *testing.T) {
	t.Parallel()
	for _, d := range deliveries(t) {
		r := d.request()
		r.URL = strings.Replace(r.URL, "hooks.example.com", "hooks.example.org", 1)
		if err := d.verifier().Verify(r, []string{d.Secret}, d.at()); (err != nil) != d.Scheme.SignsURL() {
			t.Errorf("%s to another host: %v", d.Scheme, err)
		}
	}
}

func TestOldAndFutureTimesAreRefusedWhereOneIsSigned(t *testing.T) {
	t.Parallel()
	for _, d := range deliveries(t) {
		for off, stale := range map[time.Duration]bool{5 * time.Minute: false, -5 * time.Minute: false, 5*time.Minute + time.Second: true, -5*time.Minute - time.Second: true, 80 * time.Hour: true} {
			err := d.verifier().Verify(d.request(), []string{d.Secret}, d.at().Add(off))
			if want := stale && d.Scheme.SignsTime(); errors.Is(err, ErrStale) != want {
				t.Errorf("%s, looked at %s later: %v", d.Scheme, off, err)
			}
		}
	}
}

// TestNothingOfTheSignatureMayBeMissing takes each header away that is signed or
// holds the signature, doubles it, and spoils it.
func TestNothingOfTheSignatureMayBeMissing(t *testing.T) {
	t.Parallel()
	free := []string{"Content-Type", "X-Github-Event", "X-Github-Delivery", "X-Shopify-Event-Id"}
	for _, d := range deliveries(t) {
		for _, name := range slices.Sorted(maps.Keys(d.request().Header)) {
			if slices.Contains(free, name) {
				continue
			}
			for how, change := range map[string]func(http.Header){
				"missing": func(h http.Header) { h.Del(name) },
				"empty":   func(h http.Header) { h.Set(name, "") },
				"spoiled": func(h http.Header) { h.Set(name, "nothing of that kind") },
			} {
				r := d.request()
				change(r.Header)
				if err := d.verifier().Verify(r, []string{d.Secret}, d.at()); err == nil {
					t.Errorf("%s: %s is %s, and it passed", d.Scheme, name, how)
				}
			}
			if strings.Contains(name, "Settings") {
				continue
			}
			r := d.request()
			r.Header.Add(name, r.Header.Get(name))
			if err := d.verifier().Verify(r, []string{d.Secret}, d.at()); err == nil {
				t.Errorf("%s: %s stands twice, and it passed", d.Scheme, name)
			}
		}
	}
}

func TestNoSecretTakesNothing(t *testing.T) {
	t.Parallel()
	for _, d := range deliveries(t) {
		if err := d.verifier().Verify(d.request(), nil, d.at()); !errors.Is(err, ErrMismatch) {
			t.Errorf("%s without a secret: %v", d.Scheme, err)
		}
		if err := d.verifier().Verify(d.request(), []string{""}, d.at()); !errors.Is(err, ErrSecret) {
			t.Errorf("%s with an empty secret: %v", d.Scheme, err)
		}
	}
}

func TestSchemeOfOneSendersOwnIsDescribed(t *testing.T) {
	t.Parallel()
	v := &Verifier{Scheme: HMAC, Tolerance: time.Minute, HMAC: HMACSettings{Header: "X-Sign", Prefix: "sig=", Algorithm: "sha256", Encoding: "hex", TimeIn: "X-Time", Signs: "{timestamp}.{body}.{method}"}}
	at := time.Unix(1780000000, 0)
	r := &Request{Method: "POST", Header: http.Header{}, Body: []byte("{timestamp}")}
	r.Header.Set("X-Time", "1780000000")
	r.Header.Set("X-Sign", "sig="+hex.EncodeToString(macOf("k", "1780000000.{timestamp}.POST")))
	if err := v.Verify(r, []string{"k"}, at); err != nil {
		t.Fatal(err)
	}
	if err := v.Verify(r, []string{"k"}, at.Add(time.Hour)); !errors.Is(err, ErrStale) {
		t.Fatalf("an hour later: %v", err)
	}
	r.Body = []byte("{body}")
	if err := v.Verify(r, []string{"k"}, at); !errors.Is(err, ErrMismatch) {
		t.Fatalf("another body: %v", err)
	}
}

// TestSignaturesOfManySecretsAreBounded keeps a delivery from asking for
// endless comparisons.
func TestSignaturesOfManySecretsAreBounded(t *testing.T) {
	t.Parallel()
	for _, d := range deliveries(t) {
		if d.Scheme != Stripe && d.Scheme != StandardWebhooks {
			continue
		}
		r := d.request()
		name := map[Scheme]string{Stripe: "Stripe-Signature", StandardWebhooks: "Webhook-Signature"}[d.Scheme]
		r.Header.Set(name, r.Header.Get(name)+strings.Repeat(map[Scheme]string{Stripe: ",v1=00", StandardWebhooks: " v1,AA=="}[d.Scheme], 1000))
		s, err := d.verifier().read(r)
		if err != nil || len(s.sent) != signaturesMax {
			t.Errorf("%s: %d signatures, %v", d.Scheme, len(s.sent), err)
		}
	}
}
