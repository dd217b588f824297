package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// bodyShown is how much of an answer is printed, in characters; --json has all
// that is kept.
const bodyShown = 300

// printStory prints what was sent, what came back and what look-ups saw, in
// words; nothing if the answer brings no attempts and events along.
func printStory(w io.Writer, o *operationView) {
	for i := range o.AttemptList {
		printAttempt(w, &o.AttemptList[i], o.Events)
	}
	first := true
	for i := range o.Events {
		e := &o.Events[i]
		if first {
			fmt.Fprintln(w, "\ntimeline")
			first = false
		}
		printEvent(w, e)
	}
}

var statusWords = map[string]string{
	"running":  "under way",
	"open":     "open: it ended without a verdict and may have had its effect",
	"done":     "done: proven to have had its effect",
	"not_done": "not done: proven to have had no effect",
}

var reachWords = map[string]string{
	"unknown":         "nobody saw how far it went",
	"not_dialled":     "no connection was made: nothing left",
	"connected":       "a connection stood, no byte of the request was written",
	"headers_written": "the request was written in part",
	"body_written":    "the whole request was written, no answer came back",
	"first_byte":      "the whole request was written, an answer came back",
}

var settlerWords = map[string]string{
	"answer":        "the provider's answer",
	"probe":         "a look-up",
	"person":        "a person",
	"callback":      "the provider's own event",
	"later_attempt": "a later attempt under the same provider key",
}

// inWords is the phrase for a word of the API, or the word itself: a newer
// server may have more of them.
func inWords(words map[string]string, word string) string {
	if phrase, known := words[word]; known {
		return phrase
	}
	return word
}

func printAttempt(w io.Writer, a *attemptView, events []eventView) {
	fmt.Fprintln(w)
	printLine(w, "attempt "+strconv.Itoa(a.Number), inWords(statusWords, a.Status))
	by := a.Owner
	if by == "caller" {
		by = "the caller itself"
	}
	started := stamp(a.StartedAt) + " by " + by
	if a.Resend {
		started += ", while an earlier attempt was open"
	}
	printLine(w, "  started", started)
	switch {
	case a.Status == "running":
		printLine(w, "  lease", "until "+stamp(a.LeaseUntil)+"; silence past that is unknown")
	case !a.EndedAt.IsZero():
		printLine(w, "  ended", stamp(a.EndedAt))
	}
	if a.Status != "running" {
		printLine(w, "  went", inWords(reachWords, a.Reach))
	}
	settled := inWords(settlerWords, a.SettledBy)
	for i := range events {
		e := &events[i]
		if e.Attempt == a.Number && e.Evidence != nil && strings.HasPrefix(e.Event, "attempt_") {
			printLine(w, "  answer", e.Evidence.answer())
		}
		if a.SettledBy == "person" && e.Event == "resolved" {
			settled = "a person: " + e.Actor
			if e.Reason != "" {
				settled += ", " + strconv.Quote(e.Reason)
			}
		}
	}
	if a.Error != nil {
		printLine(w, "  error", a.Error.text())
	}
	printLine(w, "  reference", a.Reference)
	if a.Handle != "" {
		printLine(w, "  goes on as", a.Handle+", by which the provider is asked for its end")
	}
	if !a.LastByteAt.IsZero() {
		printLine(w, "  last byte", "may have travelled until "+stamp(a.LastByteAt))
	}
	if a.Status == "open" {
		settled = "nobody yet"
	}
	if settled != "" {
		printLine(w, "  settled by", settled)
	}
}

// answer says what came back; empty if nothing did.
func (ev *evidenceView) answer() string {
	if ev.Status == 0 {
		return ""
	}
	text := strconv.Itoa(ev.Status)
	if ev.RemoteAddr != "" {
		text += " from " + ev.RemoteAddr
	}
	switch {
	case ev.BodyBase64 != "":
		text += ", neither JSON nor text"
	case len(ev.Body) > 0:
		text += " " + shorten(string(ev.Body))
	}
	if ev.BodyCut {
		text += " (cut before its end)"
	}
	if ev.BodyTooBig {
		text += " (longer than what is read)"
	}
	return text
}

// trouble says what went wrong on the way; empty if nothing did.
func (ev *evidenceView) trouble() string {
	if ev.ErrorClass == "" && ev.ErrorText == "" {
		return ""
	}
	return (&failureView{Class: ev.ErrorClass, Code: ev.ErrorCode, Message: ev.ErrorText}).text()
}

func shorten(s string) string {
	r := []rune(s)
	if len(r) <= bodyShown {
		return s
	}
	return fmt.Sprintf("%s... (%d more characters; --json has them)", string(r[:bodyShown]), len(r)-bodyShown)
}

// eventWords are the events whose name alone does not say what was seen.
var eventWords = map[string]string{
	"probe_found":        "a look-up found it",
	"probe_absent":       "a look-up did not find it, late enough to be proof",
	"probe_inconclusive": "a look-up could not tell",
	"settle_overdue":     "a person is asked",
	"lease_expired":      "the attempt's holder fell silent",
}

func printEvent(w io.Writer, e *eventView) {
	step := e.To
	if e.From != "" && e.From != e.To {
		step = e.From + " -> " + e.To
	}
	what := inWords(eventWords, e.Event)
	if e.Event == "probe_absent" && e.From == e.To {
		what = "a look-up did not find it, too early to be proof"
	}
	words := []string{stamp(e.At), what}
	if e.Attempt > 0 {
		words = append(words, "(attempt "+strconv.Itoa(e.Attempt)+")")
	}
	words = append(words, "["+step+"]")
	for _, more := range []string{e.Reference, e.Reason} {
		if more != "" {
			words = append(words, more+";")
		}
	}
	if e.Actor != "" {
		words = append(words, "by "+e.Actor)
	}
	fmt.Fprintf(w, "  %s\n", visible(strings.Join(words, " ")))
	if ev := e.Evidence; ev != nil && !strings.HasPrefix(e.Event, "attempt_") {
		for _, saw := range []string{ev.answer(), ev.trouble()} {
			if saw != "" {
				fmt.Fprintf(w, "    saw %s\n", visible(saw))
			}
		}
	}
}
