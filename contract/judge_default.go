package contract

import (
	"strconv"

	"github.com/onceward/onceward"
)

// The defaults: what an answer means when the contract says nothing. Whatever
// is not proven is unknown.

// noAnswer judges an attempt that got no answer.
func noAnswer(ev *onceward.Evidence) onceward.Judgement {
	f := onceward.Failure{Class: ev.ErrorClass, Code: ev.ErrorCode, Message: ev.ErrorText, Retryable: true}
	if f.Class == onceward.ClassNone {
		f.Class = onceward.ClassConnection
	}
	if ev.Reach.NothingSent() {
		if f.Code == "" {
			f.Code = "not_sent"
		}
		if f.Message == "" {
			f.Message = "no byte of the request was sent"
		}
		f.Retryable = f.Class != onceward.ClassValidation
		return onceward.Judgement{Verdict: onceward.VerdictNotDone, Failure: f, Rule: "default: nothing sent"}
	}
	if f.Code == "" {
		f.Code = "no_answer"
	}
	if f.Message == "" {
		f.Message = "the request may have arrived, but no answer came back"
	}
	return onceward.Judgement{Verdict: onceward.VerdictUnknown, Failure: f, Rule: "default: no answer"}
}

// byDefault judges an answer by its status alone.
func (t *Tool) byDefault(ev *onceward.Evidence) onceward.Judgement {
	status := ev.Status
	rule := "default: " + strconv.Itoa(status)
	if status >= 200 && status < 300 {
		return onceward.Judgement{Verdict: onceward.VerdictDone, Rule: "default: 2xx"}
	}
	j := onceward.Judgement{Verdict: onceward.VerdictUnknown, Failure: statusFailure(status), Rule: rule, RetryAfter: headerRetryAfter(ev)}
	switch status {
	case 409:
		if t.keyed { // still working on the first request under this key
			j.Failure.Retryable = true
			j.Rule = "default: 409 under a provider key"
		}
	case 422:
		if t.keyed { // same key, other content: an earlier request may have had its effect
			j.Failure.Class, j.Failure.Retryable = onceward.ClassConflict, false
			j.Rule = "default: 422 under a provider key"
			return j
		}
		j.Verdict = onceward.VerdictNotDone
	case 400, 401, 403, 404, 405, 410, 415:
		j.Verdict = onceward.VerdictNotDone
	}
	return j
}

// statusFailure describes a status that is no success.
func statusFailure(status int) onceward.Failure {
	class := statusClass(status)
	return onceward.Failure{
		Class: class, Code: "http_" + strconv.Itoa(status),
		Message: "the provider answered " + strconv.Itoa(status), Retryable: classRetryable(class),
	}
}

// statusClass is the error class that a status stands for.
func statusClass(status int) onceward.ErrorClass {
	switch {
	case status == 401 || status == 403:
		return onceward.ClassAuth
	case status == 408:
		return onceward.ClassTimeout
	case status == 409 || status == 412:
		return onceward.ClassConflict
	case status == 429:
		return onceward.ClassRateLimited
	case status >= 500 && status < 600:
		return onceward.ClassUnavailable
	case status >= 400 && status < 500:
		return onceward.ClassValidation
	}
	return onceward.ClassProtocol
}

// classRetryable reports whether the same write may succeed later without a
// change: not what was wrong with its content, and not what stands against it.
// A refused credential is retryable: it is mended elsewhere.
func classRetryable(class onceward.ErrorClass) bool {
	switch class {
	case onceward.ClassValidation, onceward.ClassConflict:
		return false
	case onceward.ClassNone, onceward.ClassAuth, onceward.ClassRateLimited, onceward.ClassUnavailable, onceward.ClassTimeout, onceward.ClassConnection, onceward.ClassProtocol:
		return true
	}
	return true
}
