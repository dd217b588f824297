package onceward

import (
	"context"
	"time"
)

// Request is one rendered request to a provider. Method, URL and Body are
// rendered once, stored until the operation is terminal and sent byte-equal on
// every attempt. Header is what may be stored; secrets are added late, by
// Tool.Secrets, and never stored.
type Request struct {
	Method string
	URL    string
	Header []HeaderField
	Body   []byte // nil: no body
}

// SendOptions bound one exchange on the wire.
type SendOptions struct {
	Write        bool          // a write: one request on the wire, no redirect, linger 0 on an unanswered close
	Deadline     time.Duration // whole exchange
	NotAfter     time.Time     // wall time of this process after which no byte may be written; zero: Deadline alone bounds
	Hosts        []string      // egress allow-list: host or host:port; empty refuses all
	JudgeBytes   int64         // how much of the answer is read to judge it; 0: DefaultJudgeBytes
	OnReach      func(Reach)   // called in order while the request travels; may be nil; must not block
	BeforeWrite  func() error  // last check, called on the connection directly before the first byte; an error stops the write
	RedactHeader []string      // answer headers that are dropped besides the built-in ones
	SecretHeader []string      // request headers whose values must not come back in evidence, besides those that carry credentials by name
}

// Limits of an answer.
const (
	DefaultJudgeBytes = 16 << 20  // read to judge
	DefaultKeepBytes  = 256 << 10 // kept with the result
)

// Provider puts requests on the wire. It never repeats one, follows no
// redirect on a write, and returns evidence instead of an error: whatever
// happens is something that was seen.
//
// Why no error: an error return invites callers to treat "could not read the
// answer" as "did not happen".
type Provider interface {
	Send(ctx context.Context, req *Request, opts SendOptions) Evidence
}
