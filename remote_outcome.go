package onceward

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// RemoteOutcome is what the performer of a remote attempt knows.
type RemoteOutcome struct {
	Verdict   Verdict   // done, not_done or unknown
	Reference string    // of what is done; empty: not known
	Result    *Result   // of what is done, for later requests; nil: none
	Failure   Failure   // of what is not done or unknown; zero and unknown: nothing speaks against the same write
	Evidence  *Evidence // nil: none
}

// Limits of what a remote performer reports, for all header fields together.
const (
	// RemoteHeaderFieldsMax is how many header fields a result may have.
	RemoteHeaderFieldsMax = 100
	// RemoteHeaderBytesMax is how long their names and values may be.
	RemoteHeaderBytesMax = 32 << 10
)

// check refuses an outcome that contradicts itself, or that could not have been
// seen: CodeInvalidRequest, and CodeTooLarge for too many or too long header
// fields. The message names the part.
func (o *RemoteOutcome) check() error {
	switch o.Verdict {
	case VerdictDone:
		if !o.Failure.IsZero() {
			return contradiction("error stands beside an outcome that is done", "say unknown if it is not sure, and leave error out if it is")
		}
	case VerdictNotDone, VerdictUnknown:
		if o.Reference != "" || o.Result != nil {
			return contradiction("reference or result stands beside an outcome that is not done", "say done if the effect exists")
		}
	case VerdictInProgress:
		return contradiction("outcome is neither done, not_done nor unknown", "prolong the lease while it is in progress")
	default:
		return contradiction("outcome is neither done, not_done nor unknown", "say unknown unless you know better")
	}
	if o.Evidence != nil && !plausibleStatus(o.Evidence.Status) {
		return contradiction("evidence.status is no HTTP status", statusHint)
	}
	if o.Result == nil {
		return nil
	}
	if !plausibleStatus(o.Result.Status) {
		return contradiction("result.status is no HTTP status", statusHint)
	}
	return checkReportedHeader(o.Result.Header)
}

const statusHint = "give a number from 100 to 599, or leave it out"

func contradiction(message, hint string) error {
	return &Error{Code: CodeInvalidRequest, Op: "report outcome", Message: message, Hint: hint}
}

// plausibleStatus reports whether a status can be one; 0 is none.
func plausibleStatus(status int) bool { return status == 0 || status >= 100 && status <= 599 }

// checkReportedHeader holds header fields to what may be sent again (RFC 9110,
// sections 5.1 and 5.5).
func checkReportedHeader(fields []HeaderField) error {
	size := 0
	for _, f := range fields {
		size += len(f.Name) + len(f.Value)
		switch {
		case !fieldName(f.Name):
			return contradiction(fmt.Sprintf("result.headers has the name %.60q, which is no header field", f.Name), "use letters, digits and -")
		case strings.ContainsAny(f.Value, "\r\n\x00"):
			return contradiction("result.headers."+f.Name+" has a line break or a NUL", "send the value as one line")
		}
	}
	if len(fields) > RemoteHeaderFieldsMax || size > RemoteHeaderBytesMax {
		return &Error{Code: CodeTooLarge, Op: "report outcome", Hint: "leave out what no later request needs",
			Message: fmt.Sprintf("result.headers has %d values of %d bytes; %d of %d are taken", len(fields), size, RemoteHeaderFieldsMax, RemoteHeaderBytesMax)}
	}
	return nil
}

// fieldName reports whether s is a token, as the name of a header field is.
func fieldName(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !asciiAlphanumeric(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// ReportOutcome records the outcome of a remote attempt. Reporting the same
// outcome again changes nothing. A late report is kept as evidence and settles
// only its own attempt. CodeInvalidRequest and CodeTooLarge: nothing is recorded.
func (l *Ledger) ReportOutcome(ctx context.Context, p Principal, id AttemptID, secret string, out RemoteOutcome) (*Operation, error) {
	if err := out.check(); err != nil {
		return nil, err
	}
	if out.Verdict == VerdictUnknown && out.Failure.IsZero() {
		out.Failure.Retryable = true // nothing speaks against the same write
	}
	if out.Result != nil {
		r := *out.Result
		r.Header = ReplayableHeader(r.Header)
		out.Result = &r
	}
	op, _, err := l.remoteAttempt(ctx, p, id, secret)
	if err != nil {
		return nil, err
	}
	t, err := l.hydrate(ctx, op)
	if err != nil {
		return nil, err
	}
	generation, last := op.Generation, l.clock.latest() // its last byte left before it reported
	return l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if now.Generation != generation {
			return nil, attemptGone(id)
		}
		for i := range now.Attempts {
			if a := &now.Attempts[i]; a.Number == id.Number && saysAlready(a, out) {
				return nil, nil
			}
		}
		sent := Sent{Reach: ReachBodyWritten, LastByteAt: last}
		f := fact{actor: p.String(), evidence: out.Evidence}
		switch out.Verdict {
		case VerdictDone:
			f.event = AttemptDone{Attempt: id.Number, Sent: sent, Reference: out.Reference, Result: t.Info().kept(out.Result), Settler: SettledByAnswer}
		case VerdictNotDone:
			// It had no effect, but the provider may have seen the key: its window
			// counts from the first possible send.
			f.event = AttemptNotDone{Attempt: id.Number, Sent: Sent{LastByteAt: last}, Failure: out.Failure}
		case VerdictUnknown, VerdictInProgress:
			f.event = AttemptUnknown{Attempt: id.Number, Sent: sent, Failure: out.Failure}
		default:
			return nil, Errorf(CodeInvalidRequest, "an outcome is done, not_done or unknown")
		}
		return []fact{f}, nil
	})
}

// saysAlready reports whether the attempt stands as the report says.
func saysAlready(a *Attempt, out RemoteOutcome) bool {
	switch out.Verdict {
	case VerdictDone:
		return a.Status == StatusDone && a.Reference == out.Reference
	case VerdictNotDone:
		return a.Status == StatusNotDone
	case VerdictUnknown, VerdictInProgress:
		return a.Status != StatusRunning
	}
	return false
}
