package onceward

import (
	"context"
	"slices"
	"strings"
)

// Sourced is a tool whose contract says how the record that caused a write is
// read again (source:), and what of it stands in the input (source.was).
type Sourced interface {
	// SourceRequest renders the read, secrets included; nil: the contract has none.
	SourceRequest(op *Operation) (*Request, error)
	// SourceValue is what counts of the record, as JSON, by the read's answer.
	SourceValue(op *Operation, ev *Evidence) ([]byte, error)
	// SourceThen is the same at the time of the intent, by the input; nil: the
	// contract does not say.
	SourceThen(op *Operation) ([]byte, error)
}

// SourceState is how the record that caused a write stands now.
type SourceState struct {
	Then, Now []byte   // canonical JSON; for whoever may see the result
	Changed   []string // the paths that differ; "" for the whole value
	Unread    bool     // it could not be read, or not be compared
}

// source reads the record again that caused a write, and compares it with what
// stood in the input. nil: the contract does not say how.
func (l *Ledger) source(_ context.Context, op *Operation, t Tool) *SourceState {
	s, ok := t.(Sourced)
	if !ok {
		return nil
	}
	then, err := s.SourceThen(op)
	if err == nil && then == nil {
		return nil
	}
	unread := func(err error) *SourceState {
		l.log.Warn("source record not compared", about(op, "error", err)...)
		return &SourceState{Then: then, Unread: true}
	}
	if err != nil {
		return unread(err)
	}
	req, err := s.SourceRequest(op)
	if err != nil || req == nil {
		return unread(err)
	}
	info := t.Info()
	deadline := info.Policy.ProbeDeadline
	if deadline <= 0 {
		deadline = info.Policy.Deadline
	}
	ev := l.provider.Send(l.detached, req, SendOptions{SecretHeader: fieldNames(req.Header), Deadline: deadline, Hosts: info.Hosts, JudgeBytes: info.JudgeBytes})
	now, err := s.SourceValue(op, &ev)
	if err != nil {
		return unread(err)
	}
	state := &SourceState{}
	if state.Then, err = Canonicalize(then); err != nil {
		return unread(err)
	}
	if state.Now, err = Canonicalize(now); err != nil {
		return unread(err)
	}
	if state.Changed, err = changedPaths(state.Then, state.Now); err != nil {
		return unread(err)
	}
	return state
}

// changedPaths names where two JSON values differ: members of objects, and
// everything else as a whole.
func changedPaths(a, b []byte) ([]string, error) {
	x, err := ParseJSON(a)
	if err != nil {
		return nil, err
	}
	y, err := ParseJSON(b)
	if err != nil {
		return nil, err
	}
	paths := differing(nil, "", x, y)
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

func differing(paths []string, at string, x, y *Node) []string {
	if x.Kind() != NodeObject || y.Kind() != NodeObject {
		if string(x.AppendCanonical(nil)) != string(y.AppendCanonical(nil)) {
			paths = append(paths, at)
		}
		return paths
	}
	for name, v := range x.Members() {
		inner := strings.TrimPrefix(at+"."+name, ".")
		if w, both := y.Member(name); both {
			paths = differing(paths, inner, v, w)
		} else {
			paths = append(paths, inner)
		}
	}
	for name := range y.Members() {
		if _, both := x.Member(name); !both {
			paths = append(paths, strings.TrimPrefix(at+"."+name, "."))
		}
	}
	return paths
}

// askAboutSource makes a plan ask where its source has changed.
func (p *ReplayPlan) askAboutSource(s *SourceState) {
	if p.Source = s; s == nil || p.Verdict == ReplayRefuse {
		return
	}
	why, clause := "", ""
	switch {
	case s.Unread:
		why, clause = "the record that caused it could not be compared", "although its source could not be compared"
	case len(s.Changed) > 0:
		why, clause = "the record that caused it has changed: "+inWords(namedWhole(s.Changed)), "although its source has changed"
	default:
		return
	}
	p.Reasons = append([]string{why}, p.Reasons...)
	if p.Verdict == ReplayConfirm {
		p.Sentence += ", " + clause
		return
	}
	p.Verdict = ReplayConfirm
	p.Sentence = "I accept that " + string(p.Operation.Tool) + " is sent again for " + p.Operation.ID.String() + " " + clause
}

func namedWhole(paths []string) []string {
	named := slices.Clone(paths)
	for i := range named {
		if named[i] == "" {
			named[i] = "the whole value"
		}
	}
	return named
}
