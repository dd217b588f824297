package onceward

import "fmt"

// ErrorClass says what kind of trouble an attempt met. It is part of an
// outcome's description, not a Go error.
type ErrorClass uint8

// The error classes. Zero means no error.
const (
	ClassNone        ErrorClass = iota
	ClassValidation             // the provider refused the content
	ClassAuth                   // the provider refused the credential: the tool is paused
	ClassRateLimited            // asked too often
	ClassConflict               // the provider's state or key stands against it
	ClassUnavailable            // the provider said it cannot serve
	ClassTimeout                // no answer within the deadline
	ClassConnection             // refused, reset, cut, name or TLS failure
	ClassProtocol               // an answer that cannot be understood, or a redirect
)

// AllErrorClasses lists every class that names an error.
var AllErrorClasses = []ErrorClass{ClassValidation, ClassAuth, ClassRateLimited, ClassConflict, ClassUnavailable, ClassTimeout, ClassConnection, ClassProtocol}

var classNames = [...]string{
	ClassNone: "", ClassValidation: "validation", ClassAuth: "auth", ClassRateLimited: "rate_limited", ClassConflict: "conflict",
	ClassUnavailable: "unavailable", ClassTimeout: "timeout", ClassConnection: "connection", ClassProtocol: "protocol",
}

// String returns the name used in contracts and APIs; "" for none.
func (c ErrorClass) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// ParseErrorClass returns the class of that name; "" is ClassNone. Any other
// word is an Error with CodeContractInvalid.
func ParseErrorClass(name string) (ErrorClass, error) {
	for c, n := range classNames {
		if n == name {
			return ErrorClass(c), nil
		}
	}
	return 0, &Error{Code: CodeContractInvalid, Message: fmt.Sprintf("no error class is called %q", name), Hint: "use validation, auth, rate_limited, conflict, unavailable, timeout, connection or protocol"}
}

// Failure describes why an attempt did not end in a proven effect.
type Failure struct {
	Class     ErrorClass
	Code      string // the provider's own code, or ours: "http_503", "dial_refused"; bounded, no payload
	Message   string // one sentence without payloads or secrets
	Retryable bool   // the same write may succeed later without a change
}

// IsZero reports whether no failure is described.
func (f Failure) IsZero() bool { return f == Failure{} }
