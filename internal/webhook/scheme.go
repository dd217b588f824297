package webhook

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Scheme names how a sender signs.
type Scheme string

// The schemes, with the manual that describes each. They are held against the
// sender's own library where it has one.
const (
	StandardWebhooks Scheme = "standard-webhooks" // github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md
	Stripe           Scheme = "stripe"            // docs.stripe.com/webhooks, "Verify webhook signatures manually"
	GitHub           Scheme = "github"            // docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
	Shopify          Scheme = "shopify"           // shopify.dev/docs/apps/build/webhooks/subscribe/https
	Slack            Scheme = "slack"             // docs.slack.dev/authentication/verifying-requests-from-slack
	Twilio           Scheme = "twilio"            // www.twilio.com/docs/usage/webhooks/webhooks-security
	HubSpot          Scheme = "hubspot"           // developers.hubspot.com/docs, "Validating requests", version 3
	HMAC             Scheme = "hmac"              // what the contract says
)

// Schemes lists them all.
var Schemes = []Scheme{StandardWebhooks, Stripe, GitHub, Shopify, Slack, Twilio, HubSpot, HMAC}

// SignsTime reports whether the signature covers a time, so that a tolerance
// means something.
func (s Scheme) SignsTime() bool {
	return s == StandardWebhooks || s == Stripe || s == Slack || s == HubSpot
}

// SignsURL reports whether the signature covers the URL as the sender has it.
func (s Scheme) SignsURL() bool { return s == Twilio || s == HubSpot }

// HMACSettings say how a sender signs that has no scheme of its own.
type HMACSettings struct {
	Header    string // that holds the signature
	Prefix    string // before the signature in that header: "sha256="
	Algorithm string // sha256, sha512 or sha1
	Encoding  string // hex or base64
	TimeIn    string // header that holds the signed time in Unix seconds; empty: none is signed
	Signs     string // what is signed: a text with {body}, {timestamp}, {method} and {url}
}

// signature is what a request says of itself.
type signature struct {
	hash     func() hash.Hash
	content  [][]byte // what was signed, in parts
	sent     [][]byte // each is enough
	signedAt time.Time
}

// read takes the scheme's parts out of a request.
func (v *Verifier) read(r *Request) (signature, error) {
	switch v.Scheme {
	case StandardWebhooks:
		return standardWebhooks(r)
	case Stripe:
		return stripe(r)
	case GitHub:
		return plain(r, "X-Hub-Signature-256", "sha256=", hex.DecodeString)
	case Shopify:
		return plain(r, "X-Shopify-Hmac-Sha256", "", base64.StdEncoding.DecodeString)
	case Slack:
		return slack(r)
	case Twilio:
		return twilio(r)
	case HubSpot:
		return hubSpot(r)
	case HMAC:
		return v.HMAC.read(r)
	}
	return signature{}, ErrMissing
}

// key is a secret as the key of its HMAC.
func (v *Verifier) key(secret string) ([]byte, error) {
	if v.Scheme != StandardWebhooks {
		if secret == "" {
			return nil, ErrSecret
		}
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return nil, ErrSecret
	}
	return key, nil
}

// CheckSecret reports whether a secret can be used with the scheme.
func (s Scheme) CheckSecret(secret string) error {
	_, err := (&Verifier{Scheme: s}).key(secret)
	return err
}

// plain is a signature over the body alone.
func plain(r *Request, header, prefix string, decode func(string) ([]byte, error)) (signature, error) {
	text, err := one(r.Header, header)
	if err != nil {
		return signature{}, err
	}
	text, ok := strings.CutPrefix(text, prefix)
	sent, err := decode(text)
	if !ok || err != nil {
		return signature{}, ErrMissing
	}
	return signature{hash: sha256.New, content: [][]byte{r.Body}, sent: [][]byte{sent}}, nil
}

// signaturesMax bounds how many signatures of one delivery are looked at.
const signaturesMax = 16

// standardWebhooks signs "id.timestamp.body"; its header lists a signature for
// each secret that is in use: "v1,BASE64 v1,BASE64". The same signatures under
// the names that Svix gave them before the standard are taken, too.
func standardWebhooks(r *Request) (s signature, err error) {
	prefix := "webhook-"
	if r.Header.Get("Webhook-Id") == "" && r.Header.Get("Svix-Id") != "" {
		prefix = "svix-"
	}
	var parts [3]string
	for i, name := range []string{"id", "timestamp", "signature"} {
		if parts[i], err = one(r.Header, prefix+name); err != nil {
			return s, err
		}
	}
	if s.signedAt, err = unixTime(parts[1], time.Second); err != nil {
		return s, err
	}
	for _, one := range strings.Fields(parts[2]) {
		text, ok := strings.CutPrefix(one, "v1,")
		if sent, err := base64.StdEncoding.DecodeString(text); ok && err == nil && len(s.sent) < signaturesMax {
			s.sent = append(s.sent, sent)
		}
	}
	s.hash, s.content = sha256.New, [][]byte{[]byte(parts[0] + "." + parts[1] + "."), r.Body}
	return s, s.given()
}

func (s *signature) given() error {
	if len(s.sent) == 0 {
		return ErrMissing
	}
	return nil
}

// stripe signs "timestamp.body"; its header is "t=TIMESTAMP,v1=HEX,v1=HEX,v0=…".
func stripe(r *Request) (s signature, err error) {
	text, err := one(r.Header, "Stripe-Signature")
	if err != nil {
		return s, err
	}
	at := ""
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			at = value
		case "v1":
			if sent, err := hex.DecodeString(value); err == nil && len(s.sent) < signaturesMax {
				s.sent = append(s.sent, sent)
			}
		}
	}
	if s.signedAt, err = unixTime(at, time.Second); err != nil {
		return s, err
	}
	s.hash, s.content = sha256.New, [][]byte{[]byte(at + "."), r.Body}
	return s, s.given()
}

// slack signs "v0:timestamp:body"; its header is "v0=HEX".
func slack(r *Request) (signature, error) {
	s, err := plain(r, "X-Slack-Signature", "v0=", hex.DecodeString)
	if err != nil {
		return s, err
	}
	at, err := one(r.Header, "X-Slack-Request-Timestamp")
	if err != nil {
		return s, err
	}
	s.content = [][]byte{[]byte("v0:" + at + ":"), r.Body}
	s.signedAt, err = unixTime(at, time.Second)
	return s, err
}

// hubSpot signs method, URL, body and a time in milliseconds (version 3).
func hubSpot(r *Request) (signature, error) {
	s, err := plain(r, "X-Hubspot-Signature-V3", "", base64.StdEncoding.DecodeString)
	if err != nil {
		return s, err
	}
	at, err := one(r.Header, "X-Hubspot-Request-Timestamp")
	if err != nil {
		return s, err
	}
	s.content = [][]byte{[]byte(r.Method + hubSpotEscapes.Replace(r.URL)), r.Body, []byte(at)}
	s.signedAt, err = unixTime(at, time.Millisecond)
	return s, err
}

// hubSpotEscapes are the escapes that HubSpot writes out before it signs a URL.
var hubSpotEscapes = strings.NewReplacer("%3A", ":", "%2F", "/", "%3F", "?", "%40", "@", "%21", "!", "%24", "$",
	"%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%2C", ",", "%3B", ";")

// twilio signs the URL and, of a form, its fields sorted by name, each name with
// its value behind it. Of any other body the URL has a digest, bodySHA256.
func twilio(r *Request) (signature, error) {
	s := signature{hash: sha1.New}
	text, err := one(r.Header, "X-Twilio-Signature")
	if err != nil {
		return s, err
	}
	sent, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return s, ErrMissing
	}
	s.sent = [][]byte{sent}
	if strings.Contains(r.Header.Get("X-Twilio-Webhooks-Signature-Settings"), "algorithm=HMAC_SHA256") {
		s.hash = sha256.New
	}
	content := []byte(r.URL)
	u, err := url.Parse(r.URL)
	if err != nil {
		return s, ErrMissing
	}
	if digest := u.Query().Get("bodySHA256"); digest != "" {
		sum := sha256.Sum256(r.Body)
		if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(digest)) != 1 {
			return s, ErrMismatch
		}
	} else if content, err = appendForm(content, r.Body); err != nil {
		return s, err
	}
	s.content = [][]byte{content}
	return s, nil
}

// appendForm appends the fields of a form: by name, each value of a name once.
func appendForm(dst, body []byte) ([]byte, error) {
	fields, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, ErrMissing
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		values := fields[name]
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			dst = append(append(dst, name...), value...)
		}
	}
	return dst, nil
}

// Hashes are the algorithms of HMACSettings.
var Hashes = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New, "sha1": sha1.New}

// Encodings are those of HMACSettings.
var Encodings = map[string]func(string) ([]byte, error){"hex": hex.DecodeString, "base64": base64.StdEncoding.DecodeString}

// read takes the parts that the settings name out of a request.
func (h *HMACSettings) read(r *Request) (signature, error) {
	s, err := plain(r, h.Header, h.Prefix, Encodings[h.Encoding])
	if err != nil {
		return s, err
	}
	at := ""
	if h.TimeIn != "" {
		if at, err = one(r.Header, h.TimeIn); err != nil {
			return s, err
		}
		if s.signedAt, err = unixTime(at, time.Second); err != nil {
			return s, err
		}
	}
	s.hash = Hashes[h.Algorithm]
	before, after, _ := strings.Cut(h.Signs, "{body}")
	fill := strings.NewReplacer("{timestamp}", at, "{method}", r.Method, "{url}", r.URL)
	s.content = [][]byte{[]byte(fill.Replace(before)), r.Body, []byte(fill.Replace(after))}
	return s, nil
}
