package drill

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/faultproxy"
)

// probed is the operation as the contract's look-up needs it.
func (st *stage) probed() *onceward.Operation {
	in := &onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: st.s.info.Name, Input: st.input}
	op := onceward.NewOperation(in, st.ready, st.through.Info(), 0, time.Now())
	return &op
}

// lookUp renders the look-up; nil if the contract has none.
func (st *stage) lookUp(tool *contract.Tool) (*onceward.Request, error) {
	if !st.s.probes() || st.ready == nil {
		return nil, nil
	}
	return tool.ProbeRequest(st.probed())
}

// measure fills in what was seen. It is safe to call on a stage that did not open.
func (st *stage) measure(ctx context.Context) {
	st.mu.Lock()
	row := st.row
	for _, x := range st.writes {
		if x.Forwarded {
			row.Writes++
		}
		if x.Status/100 == 2 {
			row.Confirmed++
		}
	}
	row.Attempts, row.State = st.op.Attempts, st.op.State
	row.HumanAsks = st.pauses
	for _, e := range st.op.Events {
		if e.To == "needs_review" && e.From != "needs_review" {
			row.HumanAsks++
		}
	}
	if row.HumanAsks == st.pauses && st.op.State == "needs_review" {
		row.HumanAsks++
	}
	if !st.began.IsZero() && !st.ended.IsZero() {
		row.Settled = st.ended.Sub(st.began).Round(time.Millisecond)
	}
	st.mu.Unlock()
	if st.direct != nil && st.ready != nil {
		st.count(ctx)
	}
}

// count counts effects: by the contract's own look-up and listing, by the books
// of a provider that has some, and else by what the provider answered. The
// highest count stands: whoever saw two saw two.
func (st *stage) count(ctx context.Context) {
	row := st.row
	answered, confirmed := st.byAnswers()
	row.Effects, row.References, row.CountedBy = answered, confirmed, byAnswersOnly
	found, references, err := st.byLookUp(ctx, answered)
	st.found = found
	if err == nil {
		row.Effects, row.References, row.CountedBy = found, references, "look-up"
		if listed, ok := st.byListing(ctx); ok {
			row.Effects, row.CountedBy = max(found, listed), "look-up and listing"
		}
		st.moreConfirmed(confirmed)
	} else if st.found = -1; st.s.probes() {
		row.CountedBy = byAnswersOnly + "; the look-up says nothing: " + err.Error()
	} else if listed, ok := st.byListing(ctx); ok {
		row.Effects, row.CountedBy = listed, "listing"
		st.moreConfirmed(confirmed)
	}
	if st.sandbox.Count != nil {
		row.Effects = max(st.sandbox.Count(), 0)
		row.CountedBy += ", provider's books"
	}
}

// byAnswersOnly is how effects are counted where nothing else can count them.
const byAnswersOnly = "answers"

// moreConfirmed corrects a count by what the provider confirmed: two confirmed
// references are two effects, also where a look-up shows one of them (its first
// page, its newest object). One reference proves nothing against a look-up that
// shows none.
func (st *stage) moreConfirmed(references []string) {
	row := st.row
	if n := len(references); n > 1 && n > row.Effects {
		row.CountedBy = fmt.Sprintf("counted by answers: the provider confirmed %d references, the %s shows %d", n, row.CountedBy, row.Effects)
		row.Effects, row.References = n, references
	}
}

// patienceMax bounds how long a look-up is asked for what the answers told of.
const patienceMax = 30 * time.Second

// byLookUp asks the provider itself, until the look-up shows what the answers
// told of, or settle is over: undivided, because a provider that does later what
// it has accepted does not hurry for a drill.
func (st *stage) byLookUp(ctx context.Context, expected int) (n int, references []string, err error) {
	if !st.s.probes() {
		return 0, nil, fmt.Errorf("there is no look-up")
	}
	op := st.probed()
	req, err := st.direct.ProbeRequest(op)
	if err != nil {
		return 0, nil, err
	}
	until := st.ended.Add(min(st.s.info.Policy.Settle, patienceMax))
	if st.s.Tool.LooksLate() {
		until = time.Now().Add(st.s.waits.settle)
	}
	for {
		ev := st.r.opts.Provider.Send(ctx, req, onceward.SendOptions{Deadline: st.s.info.Policy.ProbeDeadline, Hosts: st.direct.Info().Hosts})
		j := st.direct.JudgeProbe(op, &ev)
		if !j.Conclusive {
			err = fmt.Errorf("%s", j.Failure.Message)
		} else {
			n, references, err = 0, nil, nil
			for _, f := range j.Found {
				if f.Ours {
					n++
					references = append(references, f.Reference)
				}
			}
		}
		if err == nil && n >= expected || !time.Now().Before(until) || ctx.Err() != nil {
			return n, references, err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// byListing counts the listed objects that carry the operation's key.
func (st *stage) byListing(ctx context.Context) (int, bool) {
	req, err := st.direct.AuditRequest(onceward.DefaultTenant)
	if err != nil || req == nil {
		return 0, false
	}
	ev := st.r.opts.Provider.Send(ctx, req, onceward.SendOptions{Deadline: st.s.info.Policy.Deadline, Hosts: st.direct.Info().Hosts})
	objects, err := st.direct.AuditedObjects(onceward.DefaultTenant, &ev)
	if err != nil {
		return 0, false
	}
	n, keyed := 0, false
	for _, o := range objects {
		keyed = keyed || o.ProviderKey != ""
		if o.ProviderKey == st.ready.ProviderKey {
			n++
		}
	}
	return n, keyed
}

// byAnswers counts what the provider confirmed: each reference once. Where the
// answers name nothing, a provider that honours a key or a condition is believed
// to have made one effect; any other made one for each confirmation.
func (st *stage) byAnswers() (n int, references []string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	op := st.probed()
	unnamed := 0
	for _, x := range st.writes {
		j, ok := st.judged(op, x)
		switch {
		case !ok || j.Verdict != onceward.VerdictDone || x.Status/100 != 2:
		case j.Reference == "":
			unnamed++
		case !slices.Contains(references, j.Reference):
			references = append(references, j.Reference)
		}
	}
	if unnamed > 1 && st.s.resends() {
		unnamed = 1
	}
	if len(references) > 0 && st.s.resends() {
		unnamed = 0
	}
	return len(references) + unnamed, references
}

// judged is what the contract makes of the provider's own answer to a write.
func (st *stage) judged(op *onceward.Operation, x faultproxy.Exchange) (onceward.Judgement, bool) {
	if x.Status == 0 {
		return onceward.Judgement{}, false
	}
	return st.through.Judge(op, evidenceOf(x)), true
}

// evidenceOf is an exchange as an attempt would have seen it.
func evidenceOf(x faultproxy.Exchange) *onceward.Evidence {
	ev := &onceward.Evidence{Status: x.Status, Body: x.Answer, Reach: onceward.ReachFirstByte, StartedAt: x.At, EndedAt: x.AnsweredAt}
	for name, values := range x.Header {
		for _, value := range values {
			ev.Header = append(ev.Header, onceward.HeaderField{Name: name, Value: value})
		}
	}
	return ev
}
