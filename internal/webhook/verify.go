package webhook

import (
	"crypto/hmac"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Why a delivery is refused. The words name neither the signature nor the body.
var (
	// ErrMissing: what the scheme needs is not there: a header, or a part of it.
	ErrMissing = errors.New("the signature, or what belongs to it, is missing or cannot be read")
	// ErrMismatch: no secret gives the signature that was sent.
	ErrMismatch = errors.New("the signature is not that of any of the secrets")
	// ErrStale: the signed time is too long ago, or too far ahead.
	ErrStale = errors.New("the signed time is not near now")
	// ErrSecret: a secret cannot be used with the scheme.
	ErrSecret = errors.New("a secret is not of the scheme's form")
)

// Request is a delivery as it came.
type Request struct {
	Method string
	URL    string // as the sender has it: scheme, host, path and query
	Header http.Header
	Body   []byte // the raw bytes
}

// Verifier is one scheme with its settings. It is immutable and safe for
// concurrent use.
type Verifier struct {
	Scheme Scheme
	// Tolerance is how far the signed time may be from now, both ways; it is
	// looked at only where the scheme signs a time.
	Tolerance time.Duration
	// HMAC has the settings of the scheme of that name.
	HMAC HMACSettings
}

// Verify returns nil if one of the secrets signed the request, at a time that is
// near enough; else one of the errors above. Signatures are compared in constant
// time; which secret matched, and whether the time was looked at, cannot be told
// from how long it takes but for the number of secrets.
func (v *Verifier) Verify(r *Request, secrets []string, now time.Time) error {
	s, err := v.read(r)
	if err != nil {
		return err
	}
	matched := false
	for _, secret := range secrets {
		key, err := v.key(secret)
		if err != nil {
			return err
		}
		mac := hmac.New(s.hash, key)
		for _, part := range s.content {
			mac.Write(part)
		}
		sum := mac.Sum(nil)
		for _, sent := range s.sent {
			matched = hmac.Equal(sum, sent) || matched
		}
	}
	switch {
	case !matched:
		return ErrMismatch
	case s.signedAt.IsZero():
		return nil
	}
	if off := now.Sub(s.signedAt); off > v.Tolerance || -off > v.Tolerance {
		return ErrStale
	}
	return nil
}

// one is the only value of a header; a repeated one is refused as if it were missing.
func one(h http.Header, name string) (string, error) {
	if values := h.Values(name); len(values) == 1 && values[0] != "" {
		return values[0], nil
	}
	return "", ErrMissing
}

// unixTime reads digits as seconds, or milliseconds, since 1970.
func unixTime(s string, unit time.Duration) (time.Time, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > int64(1<<62)/int64(unit) {
		return time.Time{}, ErrMissing
	}
	return time.Unix(0, 0).Add(time.Duration(n) * unit), nil
}
