package contract

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"

	"github.com/onceward/onceward"
)

// Limits of what a rule reads out of an answer.
const (
	ReferenceBytesMax = 512
	codeBytesMax      = 64
	messageBytesMax   = 300
	// RetryAfterMax is the longest wait that a provider may ask for.
	RetryAfterMax = 24 * time.Hour
)

// outcomeRule is one rule of outcomes, compiled.
type outcomeRule struct {
	name       string // outcomes[2]
	when       *program
	verdict    onceward.Verdict
	class      onceward.ErrorClass // ClassNone: by status
	code       *template
	message    *template
	reference  *program
	retryAfter *template
	retryable  *bool
}

// Judge is onceward.Tool's. It looks at the holder's own record first, then at
// the contract's rules, then at the defaults.
func (t *Tool) Judge(op *onceward.Operation, ev *onceward.Evidence) onceward.Judgement {
	if ev.Status == 0 {
		return noAnswer(ev)
	}
	if t.forward != nil && ev.BodyCut && !t.info.Policy.Effect.Writes() {
		return unreadable(ev) // nothing was written, and half an answer is none
	}
	v, err := t.operationVariables(op, t.judgesInput)
	if err != nil { // a stored input that cannot be read: rules that need it do not hold
		v, _ = t.operationVariables(op, false)
	}
	v.response = &responseVars{evidence: ev}
	unread := false
	for i := range t.outcomes {
		rule := &t.outcomes[i]
		holds, err := rule.when.holds(v)
		if holds && err == nil {
			return t.byRule(rule, v)
		}
		unread = unread || rule.verdict != onceward.VerdictDone && rule.undecided(v.response, err)
	}
	if t.exists != nil {
		if exists, err := t.exists.holds(v); exists && err == nil {
			return t.existsAlready(ev)
		}
	}
	if t.mcp {
		return t.byMCPDefault(ev)
	}
	j := t.byDefault(ev)
	if unread && j.Verdict == onceward.VerdictDone {
		return unreadable(ev)
	}
	return j
}

// undecided reports whether a rule failed only because the body is not all
// there, or not the JSON that the rule reads.
//
// Why it matters: where a contract says that a 200 can be a refusal (ok: false),
// a 200 whose body is cut proves nothing. Without such a rule it is done.
func (r *outcomeRule) undecided(resp *responseVars, err error) bool {
	ev := resp.evidence
	partial := ev.BodyCut || ev.BodyTooBig
	if partial && slices.Contains(r.when.uses.response, "text") {
		return true
	}
	if err == nil || !slices.Contains(r.when.uses.response, "json") {
		return false
	}
	return partial || len(ev.Body) > 0 && resp.value() == types.NullValue && strings.TrimSpace(string(ev.Body)) != "null"
}

func unreadable(ev *onceward.Evidence) onceward.Judgement {
	return onceward.Judgement{
		Verdict: onceward.VerdictUnknown, Rule: "default: body not readable",
		Failure: onceward.Failure{
			Class: onceward.ClassProtocol, Code: "body_unreadable", Retryable: true,
			Message: "the status says done, but the contract also reads the body, which is not readable",
		},
		RetryAfter: headerRetryAfter(ev),
	}
}

// existsAlready judges a conditional write that met an object.
func (t *Tool) existsAlready(ev *onceward.Evidence) onceward.Judgement {
	if !t.compare {
		return onceward.Judgement{Verdict: onceward.VerdictDone, Rule: "condition.exists"}
	}
	return onceward.Judgement{
		Verdict: onceward.VerdictUnknown, Exists: true, Rule: "condition.exists",
		Failure: onceward.Failure{
			Class: onceward.ClassConflict, Code: "http_" + strconv.Itoa(ev.Status),
			Message: "an object exists already; whether it is ours has to be looked up",
		},
	}
}

// byRule reads what a matching rule says.
func (t *Tool) byRule(r *outcomeRule, v *variables) onceward.Judgement {
	ev := v.response.evidence
	j := onceward.Judgement{Verdict: r.verdict, Rule: r.name}
	if r.verdict == onceward.VerdictDone {
		if r.reference != nil {
			j.Reference = t.bounded(r.reference.text(v))
			if len(j.Reference) > ReferenceBytesMax {
				j.Reference = ""
			}
			j.Unread = j.Reference == ""
		}
		return j
	}
	j.Failure = statusFailure(ev.Status)
	if r.class != onceward.ClassNone {
		j.Failure.Class = r.class
		j.Failure.Retryable = classRetryable(r.class)
	}
	if r.verdict == onceward.VerdictInProgress {
		j.Failure.Retryable = true
		j.Failure.Message = "the provider is still working under this key"
	}
	if r.retryable != nil {
		j.Failure.Retryable = *r.retryable
	}
	if r.code != nil {
		if code := shortCode(t.bounded(r.code.text(v))); code != "" {
			j.Failure.Code = code
		}
	}
	if r.message != nil {
		if message := cutText(t.bounded(r.message.text(v)), messageBytesMax); message != "" {
			j.Failure.Message = message
		}
	}
	j.RetryAfter = headerRetryAfter(ev)
	if r.retryAfter != nil {
		if s, err := r.retryAfter.text(v); err == nil {
			j.RetryAfter = parseRetryAfter(s, ev.EndedAt)
		}
	}
	return j
}

// bounded drops what could not be evaluated, and takes secrets out of what a
// provider echoes.
func (t *Tool) bounded(s string, err error) string {
	if err != nil {
		return ""
	}
	for _, name := range t.names.secrets {
		if value, err := t.secrets(name); err == nil && len(value) >= 4 {
			s = strings.ReplaceAll(s, value, "[secret]")
		}
	}
	return s
}

// shortCode keeps what looks like an error code.
func shortCode(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.:/", r)) {
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), codeBytesMax)]
}

// cutText keeps one line of at most so many bytes.
func cutText(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if len(s) <= limit {
		return s
	}
	cut := limit - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// headerRetryAfter reads the Retry-After header, 0 if there is none.
func headerRetryAfter(ev *onceward.Evidence) time.Duration {
	for _, h := range ev.Header {
		if strings.EqualFold(h.Name, "Retry-After") {
			return parseRetryAfter(h.Value, ev.EndedAt)
		}
	}
	return 0
}

// parseRetryAfter reads seconds, an HTTP date or a duration. What is none of
// them, or in the past, is 0; what is longer than RetryAfterMax is cut to it.
func parseRetryAfter(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	var d time.Duration
	if seconds, err := strconv.ParseFloat(s, 64); err == nil {
		if seconds > RetryAfterMax.Seconds() {
			return RetryAfterMax
		}
		if !(seconds > 0) {
			return 0
		}
		d = time.Duration(seconds * float64(time.Second))
	} else if at, err := http.ParseTime(s); err == nil {
		d = at.Sub(now)
	} else if d, err = parseDuration(s); err != nil {
		return 0
	}
	return min(max(d, 0), RetryAfterMax)
}
