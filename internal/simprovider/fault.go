package simprovider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FaultHeader selects a fault for the request that carries it:
// "Sim-Fault: error_after_commit;status=502".
const FaultHeader = "Sim-Fault"

// Fault is one way in which a request goes wrong. The index page lists the
// names and, for each, the parameters that it understands; others are refused.
type Fault struct {
	Name string `json:"fault"`
	// Delay is, for late_commit, how long after the dropped connection the
	// effect appears, for slow, how long the answer takes (both: default 1s);
	// for every other fault how long it waits before it strikes.
	Delay Duration `json:"delay,omitzero"`
	// Status is the error status (500 to 599, default 500) or the redirect's
	// (300 to 399, default 307).
	Status int `json:"status,omitempty"`
	// At is where slow waits: "after" the commit (default) or "before" it.
	At string `json:"at,omitempty"`
	// How a connection is dropped: "fin" (an orderly close, which a client
	// reads as end of file) or "reset" (a real RST).
	How string `json:"how,omitempty"`
	// Location is a redirect's target; the default is the same path again, so
	// that following it is seen as one more request.
	Location string `json:"location,omitempty"`
	// RetryAfter is the wait that rate_limited names, in whole seconds;
	// default 1.
	RetryAfter int `json:"retry_after,omitempty"`
	// Form is how Retry-After is written: "seconds" (default) or "date".
	Form string `json:"form,omitempty"`
}

// FaultNone lets a request pass; in a script it stands for "this one works".
const FaultNone = "none"

// ParseFault reads "name;key=value;key=value", the form of the header.
func ParseFault(text string) (Fault, error) {
	parts := strings.Split(text, ";")
	f := Fault{Name: strings.TrimSpace(parts[0])}
	for _, part := range parts[1:] {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return Fault{}, fmt.Errorf("fault %q: parameter %q is not key=value", f.Name, part)
		}
		if err := f.set(key, value); err != nil {
			return Fault{}, fmt.Errorf("fault %q: %s: %w", f.Name, key, err)
		}
	}
	return f, f.check()
}

func (f *Fault) set(key, value string) (err error) {
	switch key {
	case "delay":
		err = f.Delay.UnmarshalText([]byte(value))
	case "status":
		f.Status, err = strconv.Atoi(value)
	case "at":
		f.At = value
	case "how":
		f.How = value
	case "location":
		f.Location = value
	case "retry_after":
		f.RetryAfter, err = strconv.Atoi(value)
	case "form":
		f.Form = value
	default:
		err = fmt.Errorf("no such parameter")
	}
	return err
}

// UnmarshalJSON reads a fault as an object or as the header's text.
func (f *Fault) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		parsed, err := ParseFault(text)
		*f = parsed
		return err
	}
	type plainFault Fault // without this method
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plainFault)(f)); err != nil {
		return err
	}
	return f.check()
}

// check refuses a fault that does not exist or a parameter that would be
// ignored: a test that misspells its fault must not pass quietly.
func (f *Fault) check() error {
	b, ok := findBehaviour(f.Name)
	if !ok {
		return fmt.Errorf("no fault %q; there are: %s", f.Name, strings.Join(faultNames(), ", "))
	}
	for _, given := range f.given() {
		if given != "delay" && !slices.Contains(b.params, given) {
			return fmt.Errorf("fault %q has no parameter %s", f.Name, given)
		}
	}
	switch {
	case f.At != "" && f.At != "before" && f.At != "after":
		return fmt.Errorf("fault %q: at must be before or after", f.Name)
	case f.How != "" && f.How != "fin" && f.How != "reset":
		return fmt.Errorf("fault %q: how must be fin or reset", f.Name)
	case f.Form != "" && f.Form != "seconds" && f.Form != "date":
		return fmt.Errorf("fault %q: form must be seconds or date", f.Name)
	case f.RetryAfter < 0:
		return fmt.Errorf("fault %q: retry_after must not be negative", f.Name)
	case f.Status != 0 && f.Status/100 != b.statusClass:
		return fmt.Errorf("fault %q: status must be %dxx", f.Name, b.statusClass)
	}
	return nil
}

// given lists the parameters that were set.
func (f *Fault) given() []string {
	var set []string
	for _, p := range []struct {
		name string
		set  bool
	}{
		{"delay", f.Delay != 0}, {"status", f.Status != 0}, {"at", f.At != ""}, {"how", f.How != ""},
		{"location", f.Location != ""}, {"retry_after", f.RetryAfter != 0}, {"form", f.Form != ""},
	} {
		if p.set {
			set = append(set, p.name)
		}
	}
	return set
}

// delay is Delay or, where it is not set, the default.
func (f *Fault) delay(otherwise time.Duration) time.Duration {
	if f.Delay == 0 {
		return otherwise
	}
	return time.Duration(f.Delay)
}

func (f *Fault) status(otherwise int) int {
	if f.Status == 0 {
		return otherwise
	}
	return f.Status
}

func faultFromHeader(h http.Header) (Fault, error) {
	text := h.Get(FaultHeader)
	if text == "" {
		return Fault{}, nil
	}
	return ParseFault(text)
}
