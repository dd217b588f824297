package drill

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/faultproxy"
)

// credentialsRevoked lets the provider answer 401 until a person has mended it
// and resumes the tool. Nothing is lost and no budget burns meanwhile.
func credentialsRevoked(ctx context.Context, st *stage) error {
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	st.fromNowOn(revoked)
	if _, err := st.accepted(ctx, p, st.input, 0); err != nil {
		return err
	}
	op, err := st.await(ctx, p, "the tool is paused", st.s.waits.toEnd(), func(o *operation) bool { return o.ended() || o.Parked == "tool_paused" })
	if err != nil {
		return err
	}
	if op.ended() {
		st.broken("a refused credential did not pause the tool: the operation is "+op.State, st.blameRule(st.ruleFor(revoked).Rule, "leave 401 out, or give it class: auth, so that the tool waits for a person and nothing is lost"))
		return st.settle(ctx, p)
	}
	st.fromNowOn(faultproxy.HTTPFault{})
	a, err := ask(ctx, http.MethodPost, p.URL()+"/v1/tools/"+url.PathEscape(string(st.s.info.Name))+"/resume", []byte("{}"))
	if err != nil {
		return err
	}
	if a.Status/100 != 2 {
		return fmt.Errorf("resume the tool: %d %s %s", a.Status, a.Code, a.Detail)
	}
	st.pauses++
	return st.settle(ctx, p)
}

func rateLimited(ctx context.Context, st *stage) error {
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	refusal := faultproxy.HTTPFault{Kind: faultproxy.AnswerInstead, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}}
	st.next(slices.Repeat([]faultproxy.HTTPFault{refusal}, min(2, st.s.info.Policy.MaxAttempts-1))...)
	if _, err := st.accepted(ctx, p, st.input, 0); err != nil {
		return err
	}
	return st.settle(ctx, p)
}

// needsWindow: only a key that is remembered for a time can be forgotten.
func needsWindow(s *subject) (Verdict, string) {
	p := &s.info.Policy
	switch {
	case p.Effect != onceward.EffectKeyedWrite:
		return NotApplicable, "the provider gets no key that it could forget"
	case p.KeyWindow == onceward.KeyWindowForever:
		return NotApplicable, "the provider knows the key as long as the object lives"
	case p.KeyWindow == 0:
		return NotApplicable, "the provider promises no time for its keys, and they are never relied on"
	}
	return "", ""
}

// revoked is a provider's answer to a credential that it does not take.
var revoked = faultproxy.HTTPFault{Kind: faultproxy.AnswerInstead, Status: http.StatusUnauthorized}

// windowLeft is for how long a copy may send again after the first possible send.
const windowLeft = 2 * time.Second

func shortWindow(s *subject, d *contract.Derivation) {
	p := &s.info.Policy
	margin := p.KeyWindow - p.Deadline - p.ResendWithin() // what the machine keeps free at a window's end
	d.Durations["spec.provider_key.window"] = s.waits.deadline + margin + windowLeft
}

// keyMemoryExpired loses the first answer, and then every request until the
// provider's window is over. From then on nothing may be sent under the key.
func keyMemoryExpired(ctx context.Context, st *stage) error {
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	st.fromNowOn(faultproxy.HTTPFault{Kind: faultproxy.LoseRequest})
	st.next(faultproxy.HTTPFault{Kind: faultproxy.LoseAnswer})
	if _, err := st.accepted(ctx, p, st.input, 0); err != nil {
		return err
	}
	if err := st.awaitWrite(ctx, 1, callerWait); err != nil {
		return err
	}
	select {
	case <-time.After(windowLeft + 300*time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	st.fromNowOn(faultproxy.HTTPFault{})
	return st.settle(ctx, p)
}

func windowBroken(s *subject) *Change {
	return s.change("spec.provider_key.window", "a write left after the window: this is a defect of onceward, not of the contract; please report it")
}
