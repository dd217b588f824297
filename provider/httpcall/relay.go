package httpcall

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/onceward/onceward"
)

// Relay passes requests on whose answers pass back as they come, such as the
// messages of a session that are no write. It is safe for concurrent use.
type Relay struct {
	client    *Client
	transport *http.Transport
}

// Relay makes one. It talks to the host of each request, under the rules of every
// other request, without a bound on the time until an answer begins.
func (c *Client) Relay() *Relay {
	return &Relay{client: c, transport: c.passingTransport(0, func(address string) []string { return []string{address} })}
}

// Do sends a request with credentials of ours and follows no redirect. Where the
// answer's body says what stands in them, it is redacted. The caller closes the
// body. It may be sent again only if provably nothing of it was written.
func (r *Relay) Do(req *http.Request, ours []onceward.HeaderField) (*http.Response, error) {
	if err := r.client.checkURL(req.URL, []string{req.URL.Host}); err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	names := make([]string, len(ours))
	for i, h := range ours {
		out.Header.Set(h.Name, h.Value)
		names[i] = h.Name
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", r.client.agent)
	}
	if out.Header.Get("Idempotency-Key") != "" || out.Header.Get("X-Idempotency-Key") != "" {
		out.GetBody = nil // by these net/http takes any request for one to repeat
	}
	res, err := r.transport.RoundTrip(out)
	if err != nil {
		return nil, fmt.Errorf("relay to %s: %w", req.URL.Host, err)
	}
	if secrets := secretValues(ours, names); len(secrets) > 0 {
		res.Body = &scrubbed{ReadCloser: res.Body, secrets: secrets}
	}
	return res, nil
}

// Close closes the connections that are kept.
func (r *Relay) Close() { r.transport.CloseIdleConnections() }

// scrubReadBytes is how much of a relayed body is read at once.
const scrubReadBytes = 32 << 10

// scrubbed is a body without secrets, as it comes: held back is only an end that
// may be the beginning of one.
type scrubbed struct {
	io.ReadCloser
	secrets []string
	read    []byte // and not handed out yet
	end     error
}

// Read implements io.Reader.
func (s *scrubbed) Read(p []byte) (int, error) {
	for {
		if n := len(s.read) - s.held(); n > 0 {
			n = copy(p, s.read[:n])
			s.read = s.read[n:]
			return n, nil
		}
		if s.end != nil {
			return 0, s.end
		}
		buf := make([]byte, scrubReadBytes)
		n, err := s.ReadCloser.Read(buf)
		s.read, s.end = scrub(append(s.read, buf[:n]...), s.secrets), err
	}
}

// held counts the last bytes that may be the beginning of a secret.
func (s *scrubbed) held() int {
	held := 0
	if s.end != nil {
		return held
	}
	for _, secret := range s.secrets {
		for n := min(len(secret)-1, len(s.read)); n > held; n-- {
			if bytes.HasSuffix(s.read, []byte(secret[:n])) {
				held = n
			}
		}
	}
	return held
}
