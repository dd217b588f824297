package sim

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// wires is one process's way to the providers.
type wires struct{ p *process }

// Send implements onceward.Provider.
func (w *wires) Send(_ context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	ev := onceward.Evidence{StartedAt: w.p.clock()}
	if req.Method == "GET" {
		w.look(req, &ev)
	} else {
		w.write(req, opts, &ev)
	}
	ev.EndedAt = w.p.clock()
	return ev
}

func (w *wires) write(req *onceward.Request, opts onceward.SendOptions, ev *onceward.Evidence) {
	p, e := w.p, w.p.e
	var in struct{ ID, Tool string }
	if err := json.Unmarshal(req.Body, &in); err != nil {
		panic(err)
	}
	key := ""
	for _, h := range req.Header {
		if h.Name == "Idempotency-Key" {
			key = h.Value
		}
	}
	if name := e.byKey[key]; name != "" {
		in.ID = name // a fork may send what the first sent
	}
	deadline := e.s.now + opts.Deadline
	p.stand("dials for "+in.ID, 0)
	if e.dice.Throw(Refused) {
		e.s.note("  ", Refused.String())
		ev.Reach, ev.ErrorClass, ev.ErrorCode = onceward.ReachNotDialled, onceward.ClassConnection, "dial_refused"
		return
	}
	ev.Reach = onceward.ReachConnected
	if !opts.NotAfter.IsZero() && !p.clock().Before(opts.NotAfter) || e.s.now >= deadline {
		ev.ErrorClass, ev.ErrorCode = onceward.ClassTimeout, "lease_passed"
		return
	}
	if opts.BeforeWrite != nil {
		if err := opts.BeforeWrite(); err != nil {
			e.s.note("  ", p.name, " is stopped before it sends ", in.ID)
			ev.ErrorClass, ev.ErrorCode = onceward.ClassUnavailable, "stopped"
			return
		}
	}
	spec := e.specOf(in.Tool)
	e.audit.Sent(p.name, spec.Name, in.ID, key, string(req.Body))
	e.audit.Working(in.ID, p.name, true)
	defer e.audit.Working(in.ID, p.name, false)
	flight := e.world.Write(spec, in.ID, key, deadline)
	e.s.note("  ", p.name, " sends ", in.ID)
	if flight.faulty {
		e.s.note("    which meets: ", flight.fate.String())
	}
	ev.Reach, ev.LastByteAt = onceward.ReachBodyWritten, p.clock()
	if opts.OnReach != nil {
		opts.OnReach(onceward.ReachHeadersWritten)
		opts.OnReach(onceward.ReachBodyWritten)
	}
	for flight.AnswerAt == 0 || flight.AnswerAt > e.s.now || flight.Status == 0 {
		if e.s.now >= deadline {
			ev.ErrorClass, ev.ErrorCode = onceward.ClassTimeout, "deadline"
			ev.LastByteAt = p.clock().Add(deadline - e.s.now)
			return
		}
		until := min(deadline, e.s.now+50*time.Millisecond)
		if flight.AnswerAt > e.s.now {
			until = min(deadline, flight.AnswerAt)
		} else if flight.arrived || flight.ends {
			until = deadline
		}
		p.stand("waits for the answer to "+in.ID, until)
	}
	ev.Reach, ev.Status, ev.Body = onceward.ReachFirstByte, flight.Status, []byte(flight.Body)
}

func (w *wires) look(req *onceward.Request, ev *onceward.Evidence) {
	p, e := w.p, w.p.e
	u, err := url.Parse(req.URL)
	if err != nil {
		panic(err)
	}
	key := u.Query().Get("key")
	p.stand("looks up "+e.keyName(key), 0)
	refs := e.world.Look(key)
	ev.Reach, ev.LastByteAt = onceward.ReachBodyWritten, p.clock()
	if e.dice.Throw(LookLost) {
		p.stand("waits for a look-up of "+e.keyName(key), e.s.now+Deadline)
		ev.ErrorClass, ev.ErrorCode = onceward.ClassTimeout, "deadline"
		return
	}
	p.stand("gets the look-up of "+e.keyName(key), e.s.now+e.dice.Between(0, 30*time.Millisecond))
	ev.Reach = onceward.ReachFirstByte
	if ev.Status, ev.Body = 200, []byte(strings.Join(refs, "\n")); e.dice.Throw(LookFails) {
		ev.Status, ev.Body = 503, nil
	}
	e.s.note("  ", p.name, " sees ", strings.Join(refs, " "))
}

// contract is a tool of a simulation.
type contract struct {
	*oncewardtest.Tool
	spec *Spec
}

// versionName names the n-th version of a contract.
func versionName(n int) string { return "v" + strconv.Itoa(n+1) }

// Prepare implements onceward.Tool: some tools ask people, and what the caller
// performs is not rendered.
func (t *contract) Prepare(in *onceward.Intent, g onceward.Generation) (*onceward.Prepared, error) {
	p, err := t.Tool.Prepare(in, g)
	if err != nil {
		return nil, err
	}
	p.Approval = t.spec.Asked > 0
	if t.spec.Remote {
		p.Request = nil
	}
	return p, nil
}

// newContract is a tool's contract. Only those that ask people have versions.
func newContract(spec *Spec, version int) *contract {
	class, err := onceward.ParseEffectClass(spec.Class)
	if err != nil {
		panic(err)
	}
	t := oncewardtest.NewTool(onceward.ToolName(spec.Name), class, func(i *onceward.ToolInfo) {
		p := &i.Policy
		p.HasProbe, p.Deadline, p.ProbeDeadline, p.Lease, p.Settle = spec.Probe, Deadline, Deadline, Lease, Settle
		p.KeyWindow, p.KeyReusable = 0, spec.Reusable
		if class == onceward.EffectKeyedWrite {
			p.KeyWindow = spec.Window
		}
		p.MaxAttempts, p.BackoffInitial, p.BackoffMax, p.RecoveryWindow = 4, 500*time.Millisecond, 8*time.Second, 40*time.Second
		i.KeepRecord, i.KeepTombstone = spec.Keep, spec.Tombstone
		p.RemoteExecutor, p.NotAfter, p.Rate = spec.Remote, spec.NotAfter, onceward.Rate(spec.Rate)
		p.ApprovalExpiry, p.Quorum, p.SeparateRequester = spec.Asked, spec.Quorum, spec.Apart
		if spec.Asked > 0 {
			i.Version, i.Source = versionName(version), []byte(strconv.Itoa(version))
		}
	})
	if spec.Serial {
		t.SerializeBy = "res"
	}
	return &contract{t, spec}
}

// Judge implements onceward.Tool: besides the usual, 412 says that the chosen
// ID stands already.
func (t *contract) Judge(op *onceward.Operation, ev *onceward.Evidence) onceward.Judgement {
	j := t.Tool.Judge(op, ev)
	if ev.Status == 412 && t.Info().Policy.Effect == onceward.EffectConditionalWrite {
		j = onceward.Judgement{Verdict: onceward.VerdictDone, Exists: true}
	}
	return j
}
