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
	Write        bool           // a write: one request on the wire, no redirect, linger 0 on an unanswered close
	Deadline     time.Duration  // whole exchange
	NotAfter     time.Time      // wall time of this process after which no byte may be written; zero: Deadline alone bounds
	Hosts        []string       // egress allow-list: host or host:port; empty refuses all
	JudgeBytes   int64          // how much of the answer is read to judge it; 0: DefaultJudgeBytes
	OnReach      func(Reach)    // called in order while the request travels; may be nil; must not block
	BeforeWrite  func() error   // last check, called on the connection directly before the first byte; an error stops the write
	RedactHeader []string       // answer headers that are dropped besides the built-in ones
	SecretHeader []string       // request headers whose values must not come back in evidence, besides those that carry credentials by name
	OnProgress   func(Progress) // hears what the provider says on its way, where its protocol has that; may be nil; must not block
	Tap          AnswerTap      // hears the answer while it comes; nil: nobody
}

// AnswerTap hears the answer to one request while it comes, decoded, before
// anybody judged it. Head is called once where an answer came, Body then as
// often as bytes come, End last, whether or not there was an answer. They are
// called from the sending goroutine and must not block; what they are given is
// theirs until they return.
type AnswerTap interface {
	Head(status int, header []HeaderField) // without cookies and credentials
	Body(p []byte)
	End(whole bool) // whole: an answer came, and all of its body
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
