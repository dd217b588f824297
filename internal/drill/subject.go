package drill

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

// subject is a contract that is drilled, with what was found out about it.
type subject struct {
	Subject
	info  *onceward.ToolInfo
	waits waits
	mark  leaf // the input field that carries the drill's mark; no path: the caller's key does
	notes []string

	fromCaller bool // the key is the caller's
	material   *mutation
	reworded   *mutation
	asking     *mutation     // makes the input one that a person has to approve; no leaf: it is already
	lateness   time.Duration // divided, as the drill holds writes back

	shared   *Change            // to the key rule, if it gives different intentions one key; nil: it does not
	findings map[string]finding // by scenario: what trying fields has shown to be broken
}

// finding is what is broken before anything was written.
type finding struct {
	why    string
	change *Change
}

// newSubject looks at a contract and an input, and finds out what can be varied.
func newSubject(in *Subject, opts Options) (*subject, error) {
	s := &subject{Subject: *in, info: in.Tool.Info()}
	p := &s.info.Policy
	switch {
	case p.RemoteExecutor:
		return nil, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "its caller performs the write: there is nothing here to put faults in front of"}
	case !p.Effect.Writes():
		return nil, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "it writes nothing (" + p.Effect.String() + ")", Hint: "drill the contracts that write"}
	}
	s.fromCaller = s.info.KeyFromCaller
	s.waits = plan(p, s.Scale, s.AnswerWithin, s.Tool.LooksLate())
	s.lateness = s.waits.divided(s.Lateness.Worst)
	if err := s.vary(opts.RunID); err != nil {
		return nil, err
	}
	s.note()
	return s, nil
}

// vary finds the fields that a drill changes.
func (s *subject) vary(run string) error {
	v, err := newVariations(s.Tool, s.Input, s.fromCaller)
	if err != nil {
		return err
	}
	if !s.fromCaller {
		if s.mark, err = v.markField(s.KeyField, "drill-"+run+"-0"); err != nil {
			return err
		}
	}
	s.findings = map[string]finding{}
	if err := s.share(run, v); err != nil {
		return err
	}
	if s.material, err = v.find(s.Material, changesMaterial); err != nil {
		if !s.notMaterial(v) {
			return fmt.Errorf("material field: %w", err)
		}
	}
	if s.reworded, err = v.find(s.Volatile, changesNothing); err != nil {
		if !s.notVolatile(v) {
			return fmt.Errorf("volatile field: %w", err)
		}
	}
	if s.asking = (&mutation{}); !v.base.Approval {
		s.asking, err = v.find("", asksPerson)
		return err
	}
	return nil
}

// share finds a key rule that does not tell two scenarios' intentions apart.
func (s *subject) share(run string, v *variations) error {
	if s.fromCaller {
		return nil
	}
	var keys [2]onceward.Key
	for i := range keys {
		input, err := s.marked(fmt.Sprintf("drill-%s-%d", run, i+1))
		if err != nil {
			return err
		}
		p, err := v.prepare(input)
		if err != nil {
			return err
		}
		keys[i] = p.Key
	}
	if keys[0] == keys[1] {
		s.shared = s.change("spec.key", "take the key from fields that differ between intentions, as they are: here two values of "+s.mark.path+" come to the key "+string(keys[0]))
	}
	return nil
}

// notMaterial notes that a field that means another intention is declared
// volatile; false if that is not what is wrong.
func (s *subject) notMaterial(v *variations) bool {
	m, err := v.find(s.Material, changesNothing)
	if err != nil || m == nil {
		return false
	}
	s.findings["material-change"] = finding{"another " + s.Material + " is another intention, and the contract takes it for the same one, reworded",
		s.change("spec.volatile", s.Material+" is not volatile: leave it out of this list")}
	return true
}

// notVolatile notes that a field that is reworded makes another intention; false
// if that is not what is wrong.
func (s *subject) notVolatile(v *variations) bool {
	if m, err := v.find(s.Volatile, changesKey); err == nil && m != nil {
		s.findings["reworded"] = finding{"a reworded " + s.Volatile + " changes the key, and so makes a second effect",
			s.change(fmt.Sprintf("spec.key[%d]", v.keyPart(m)), s.Volatile+" is worded anew each time: take the key from fields that are equal in each delivery")}
		return true
	}
	if m, err := v.find(s.Volatile, changesMaterial); err == nil && m != nil {
		s.findings["reworded"] = finding{"a reworded " + s.Volatile + " is refused as another intention under the same key", s.change("spec.volatile", "add "+s.Volatile+" to this list")}
		return true
	}
	return false
}

func (s *subject) note() {
	if _, asked := s.Tool.Approval(); asked {
		s.notes = append(s.notes, "scenarios that are not about approval run under a copy without it")
	}
	if r := s.info.Policy.Rate; r.Count > 0 && r.Per/time.Duration(r.Count) > 200*time.Millisecond {
		s.notes = append(s.notes, "rate is left out: a drill would only wait for it")
	}
	if s.mark.plain() {
		return
	}
	if !s.fromCaller && !s.mark.readable {
		s.notes = append(s.notes, "the key field "+s.mark.path+" takes no text: it carries a value made from the run's name instead of the prefix drill-")
	}
}

// probes reports whether an unknown outcome can be looked up.
func (s *subject) probes() bool { return s.info.Policy.HasProbe }

// resends reports whether an unknown outcome is settled by sending again.
func (s *subject) resends() bool {
	p := &s.info.Policy
	switch p.Effect {
	case onceward.EffectConditionalWrite:
		return true
	case onceward.EffectKeyedWrite:
		return p.ResendWithin() > 0
	case onceward.EffectRead, onceward.EffectCompute, onceward.EffectProbedWrite, onceward.EffectUnsafeWrite:
	}
	return false
}

// settles reports whether an unknown outcome is settled without a person.
func (s *subject) settles() bool { return s.probes() || s.resends() }

// byAbsence reports whether a retry after an unknown outcome rests on a look-up
// that found nothing.
func (s *subject) byAbsence() bool { return s.probes() && !s.resends() }

// personEnds are the states in which a person has the last word.
func (s *subject) personEnds() []string {
	if s.info.Policy.OnUnknown == onceward.OnUnknownAbandon {
		return []string{"abandoned"}
	}
	return []string{"needs_review"}
}

// change points at a line of the contract.
func (s *subject) change(field, sentence string) *Change {
	line, _ := s.Tool.FieldLine(field)
	return &Change{File: s.Tool.File(), Line: line, Field: field, Sentence: sentence}
}

func (s *subject) describe() ToolReport {
	i := s.info
	r := ToolReport{
		Name: string(i.Name), Effect: i.Policy.Effect.String(), Promise: i.Policy.Effect.Promise(), Version: i.Version,
		File: s.Tool.File(), Line: s.Tool.Line(), Factor: s.waits.factor, Lateness: s.latenessInWords(), KeyField: s.mark.path, Notes: s.notes,
	}
	if s.fromCaller {
		r.KeyField = "Idempotency-Key"
	}
	for _, origin := range s.Tool.Origins() {
		_, host, _ := strings.Cut(origin, "://")
		r.Hosts = append(r.Hosts, host)
	}
	if s.Open != nil {
		r.Hosts = []string{"a bundled provider for each scenario"}
	}
	r.Waits = slices.DeleteFunc(slices.Clone(s.waits.list), func(w Wait) bool { return w.Was == w.Is })
	if tool, _, ok, _ := s.Tool.Compensation(&onceward.Operation{Reference: "x"}); ok {
		r.Compensation = string(tool)
	}
	return r
}

func (s *subject) latenessInWords() string {
	if !s.Lateness.Known {
		return "not told: held back for less than settle"
	}
	return fmt.Sprintf("%s, here %s", s.Lateness.Worst, s.lateness.Round(time.Millisecond))
}

// load reads a derived copy.
func (r *runner) load(text []byte, file string) (*contract.Tool, error) {
	tools, err := contract.Load(text, file, r.opts.Contracts)
	if err != nil {
		return nil, fmt.Errorf("load the copy that is drilled: %w", err)
	}
	return tools[0], nil
}
