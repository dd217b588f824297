package httpcall

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/onceward/onceward"
)

// The codes that Evidence.ErrorCode can carry, besides the code of an error
// that BeforeWrite returned. They are stable.
const (
	codeMethod       = "method_refused"
	codeURL          = "url_invalid"
	codeHeader       = "header_refused"
	codeHost         = "host_refused"
	codeAddress      = "address_refused"
	codeClosedClient = "client_closed"
	codeDNS          = "dns_failed"
	codeDialRefused  = "dial_refused"
	codeDialTimeout  = "dial_timeout"
	codeDial         = "dial_failed"
	codeProxy        = "proxy_failed"
	codeUntrusted    = "tls_untrusted"
	codeTLS          = "tls_failed"
	codeNoTimeout    = "user_timeout_unset"
	codeLease        = "lease_passed"
	codeCanceled     = "canceled"
	codeDeadline     = "deadline"
	codeUnacked      = "unacknowledged"
	codeReset        = "reset"
	codeClosed       = "closed"
	codeAnswerCut    = "answer_cut"
	codeHeadTooBig   = "header_too_big"
	codeMalformed    = "malformed_answer"
	codeUpgrade      = "unasked_upgrade"
	codeBodyCut      = "body_cut"
	codeEncoding     = "content_encoding"
)

// sentences are the whole vocabulary of Evidence.ErrorText: built from codes,
// so that no URL, header, payload or secret can get into it.
var sentences = map[string]string{
	codeMethod:       "the request's method is not one that is sent",
	codeURL:          "the request's URL is not an absolute http or https URL without user name",
	codeHeader:       "the request carries a header that must not be set, or one with forbidden characters",
	codeHost:         "the host is not on the contract's list of hosts",
	codeAddress:      "the host's address is one that is never called, or not allowed for a name",
	codeClosedClient: "the client was closed",
	codeDNS:          "the host's name could not be resolved",
	codeDialRefused:  "the connection was refused",
	codeDialTimeout:  "no connection was made in time",
	codeDial:         "no connection could be made",
	codeProxy:        "the proxy did not open a tunnel",
	codeUntrusted:    "the server's certificate is not trusted",
	codeTLS:          "the TLS connection failed",
	codeNoTimeout:    "the connection would not take the time limit for unacknowledged bytes",
	codeLease:        "the lease had ended before the request could be written",
	codeCanceled:     "the caller stopped the exchange",
	codeDeadline:     "the deadline passed",
	codeUnacked:      "the other side acknowledged no bytes in time",
	codeReset:        "the connection was reset",
	codeClosed:       "the connection was closed without an answer",
	codeAnswerCut:    "the connection ended inside the head of the answer",
	codeHeadTooBig:   "the head of the answer is larger than allowed",
	codeMalformed:    "the answer is not HTTP/1.1",
	codeUpgrade:      "the answer switches to a protocol that was not asked for",
	codeBodyCut:      "the body of the answer ended early",
	codeEncoding:     "the body of the answer has an encoding that is not read",
}

// fault is why an exchange went wrong. It is an error only inside this package.
type fault struct {
	class onceward.ErrorClass
	code  string
	text  string // empty: sentences[code]
}

func (f *fault) Error() string { return f.code }

func newFault(class onceward.ErrorClass, code string) *fault {
	return &fault{class: class, code: code}
}

// record writes the fault into the evidence. A head that was read stands: the
// class then stays none, and code and text only say why the body is cut.
func (f *fault) record(ev *onceward.Evidence) {
	if ev.Status == 0 {
		ev.ErrorClass = f.class
	}
	ev.ErrorCode = f.code
	if ev.ErrorText = f.text; f.text == "" {
		ev.ErrorText = sentences[f.code]
	}
}

// gateFault turns a BeforeWrite error into a fault: the error's own code, or
// lease_passed where it has none. Its text is not taken over.
func gateFault(err error) *fault {
	var typed *onceward.Error
	if errors.As(err, &typed) && typed.Code != "" {
		return &fault{class: onceward.ClassConflict, code: string(typed.Code), text: "the last check before writing refused: " + string(typed.Code)}
	}
	return newFault(onceward.ClassConflict, codeLease)
}

// dialFault names what kept a connection from being made. Nothing was sent.
func dialFault(ctx context.Context, err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return newFault(onceward.ClassTimeout, codeCanceled)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return newFault(onceward.ClassConnection, codeDialRefused)
	}
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return newFault(onceward.ClassTimeout, codeDialTimeout)
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return newFault(onceward.ClassConnection, codeDNS)
	}
	return newFault(onceward.ClassConnection, codeDial)
}

// tlsFault names what broke a handshake. No byte of a request was sent.
func tlsFault(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return newFault(onceward.ClassTimeout, codeDialTimeout)
	}
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	if errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &name) {
		return newFault(onceward.ClassConnection, codeUntrusted)
	}
	return newFault(onceward.ClassConnection, codeTLS)
}

// wireFault names what ended an exchange after a connection stood. begun says
// whether a byte of the answer had come.
func wireFault(err error, begun bool) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	var alert tls.AlertError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return newFault(onceward.ClassTimeout, codeDeadline)
	case errors.Is(err, syscall.ETIMEDOUT):
		return newFault(onceward.ClassTimeout, codeUnacked)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return newFault(onceward.ClassConnection, codeReset)
	case errors.As(err, &alert):
		return newFault(onceward.ClassConnection, codeTLS)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if begun {
			return newFault(onceward.ClassConnection, codeAnswerCut)
		}
		return newFault(onceward.ClassConnection, codeClosed)
	case !begun:
		return newFault(onceward.ClassConnection, codeReset)
	}
	return newFault(onceward.ClassProtocol, codeMalformed)
}
