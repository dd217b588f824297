package drill

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/faultproxy"
)

// Scenario is one thing that goes wrong, or may.
type Scenario struct {
	Name  string // ten-duplicates, crash/dispatch.after_send
	Title string // for people

	// needs says that a subject cannot have the scenario: with a verdict and why.
	needs func(*subject) (Verdict, string)
	// alter changes the copy that is drilled further.
	alter    func(*subject, *contract.Derivation)
	approves bool // it is about approval: the copy keeps it
	run      func(ctx context.Context, st *stage) error

	// What may come out besides what the class says, see verdict.go.
	unknown bool     // the outcome is unknown for a while, so that a class without look-up and key asks a person
	ends    []string // other states in which it may end
	outside func(*subject) bool
	blame   func(*subject) *Change // for a second effect
	once    bool                   // no more than one write may reach the provider
	length  int                    // how long it takes, roughly, in seconds; 0: it does not matter
}

// Scenarios lists everything that is drilled, in the order of the report.
var Scenarios = append(append([]*Scenario{
	{Name: "one-delivery", Title: "one delivery, nothing goes wrong", run: oneDelivery, once: true},
	{Name: "ten-duplicates", Title: "ten deliveries at once", run: tenDuplicates, once: true},
	{Name: "two-replicas", Title: "ten deliveries at once to two servers on one ledger", run: twoReplicas, once: true},
	{Name: "retry-after-timeout", Title: "the answer comes after the deadline, the caller tries again", run: retryAfterTimeout, unknown: true},
	{Name: "answer-lost", Title: "the write arrives, its answer is lost", run: lost(faultproxy.HTTPFault{Kind: faultproxy.LoseAnswer}), unknown: true},
	{Name: "request-lost", Title: "the write is lost on its way", run: lost(faultproxy.HTTPFault{Kind: faultproxy.LoseRequest}), unknown: true, needs: needsTail},
	{Name: "5xx-after-commit", Title: "the write arrives, the answer is 503", run: lost(faultproxy.HTTPFault{Kind: faultproxy.AnswerAfter, Status: 503}), unknown: true},
}, append(errorScenarios(), []*Scenario{
	{Name: "5xx-before-commit", Title: "the write does not arrive, the answer is 503", run: lost(faultproxy.HTTPFault{Kind: faultproxy.AnswerInstead, Status: 503}), unknown: true, needs: needsTail},
	{Name: "late-commit", Title: "the connection breaks, the write arrives as late as the provider can be", run: lateCommit, unknown: true, blame: settleTooShort},
	{Name: "late-commit-beyond", Title: "the write arrives later than settle", run: lateCommitBeyond, unknown: true, needs: needsSettle, outside: (*subject).byAbsence, blame: settleIsTheLimit},
	{Name: "slow-owner", Title: "the server stands still past its lease, another one goes on, then it wakes", run: slowOwner, needs: needsStop, unknown: true, length: 6, ends: []string{"succeeded"}},
}...)...), append(crashScenarios(), []*Scenario{
	{Name: "material-change", Title: "the same key with another material field", run: materialChange, needs: needsMaterial, once: true},
	{Name: "reworded", Title: "the same key with a volatile field reworded", run: rewordedField, needs: needsVolatile, once: true},
	{Name: "replay/after-completion", Title: "a replay of what is done", run: replayAfterCompletion, once: true},
	{Name: "replay/after-timeout", Title: "a replay while the outcome is unknown", run: replayAfterTimeout, unknown: true},
	{Name: "replay/after-crash", Title: "a replay after the server died with the answer in its hand", run: replayAfterCrash, unknown: true},
	{Name: "approval/rejected", Title: "a person says no", run: approvalRejected, needs: needsApproval, approves: true, ends: []string{"cancelled"}},
	{Name: "approval/expired", Title: "nobody answers in time", run: approvalExpired, needs: needsApproval, approves: true, alter: shortApproval, ends: []string{"cancelled"}},
	{Name: "approval/spent-twice", Title: "a yes is given, spent and given again", run: approvalSpentTwice, needs: needsYes, approves: true, once: true},
	{Name: "credentials-revoked", Title: "the provider refuses the credential, a person mends it", run: credentialsRevoked, once: true},
	{Name: "rate-limited", Title: "the provider answers 429 twice", run: rateLimited, unknown: true, needs: needsRetries},
	{Name: "key-memory-expired", Title: "the provider forgets its key before the outcome is known", run: keyMemoryExpired, unknown: true, once: true, needs: needsWindow, alter: shortWindow, blame: windowBroken},
}...)...)

// gatewayPage is what a gateway answers for a server that it lost.
const gatewayPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"

// errorScenarios are the other answers that say nothing about a write that has
// arrived: a rule may be right about one of them and wrong about the next.
func errorScenarios() []*Scenario {
	var list []*Scenario
	add := func(name, says string, f faultproxy.HTTPFault) {
		f.Kind = faultproxy.AnswerAfter
		list = append(list, &Scenario{Name: "5xx-after-commit/" + name, Title: "the write arrives, the answer is " + says, run: lost(f), unknown: true})
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusRequestTimeout} {
		add(strconv.Itoa(status), strconv.Itoa(status), faultproxy.HTTPFault{Status: status})
	}
	add("html", "a gateway's page with 502", faultproxy.HTTPFault{Status: http.StatusBadGateway, Header: http.Header{"Content-Type": {"text/html"}}, Body: gatewayPage})
	return list
}

// needsTail: an absence is proven only where the kernel bounds the life of bytes.
func needsTail(s *subject) (Verdict, string) {
	if s.byAbsence() && s.info.Policy.ByteTail > 0 {
		return NotDrilled, "nothing bounds how long bytes live in this system's kernel: an absence is believed " + s.info.Policy.ByteTail.String() + " later. Drill on Linux"
	}
	return "", ""
}

func needsStop(s *subject) (Verdict, string) {
	if standStill == nil {
		return NotDrilled, "this system cannot stop a process and let it go on"
	}
	return needsTail(s)
}

func needsSettle(s *subject) (Verdict, string) {
	if !s.probes() {
		return NotApplicable, "the contract has no look-up, and so no settle"
	}
	return "", ""
}

func needsMaterial(s *subject) (Verdict, string) {
	if s.material == nil {
		return NotApplicable, "the example input has no field that is neither in the key nor volatile"
	}
	return "", ""
}

func needsVolatile(s *subject) (Verdict, string) {
	if s.reworded == nil {
		return NotApplicable, "the contract has no volatile field in the example input"
	}
	return "", ""
}

func needsApproval(s *subject) (Verdict, string) {
	if _, asked := s.Tool.Approval(); !asked {
		return NotApplicable, "the contract has no approval"
	}
	if s.asking == nil {
		return NotDrilled, "neither the example input nor a change of it needs approval by approval.when: give an --input that does"
	}
	return "", ""
}

// needsYes: a yes has to count when the drill says it, and a drill is one person.
func needsYes(s *subject) (Verdict, string) {
	if v, why := needsApproval(s); v != "" {
		return v, why
	}
	switch rule, _ := s.Tool.Approval(); {
	case rule.SeparateRequester:
		return NotDrilled, "the contract wants another person than the one who asked (separate_requester), and a drill is one person"
	case rule.Quorum > 1:
		return NotDrilled, fmt.Sprintf("the contract wants a yes of %d people (quorum), and a drill is one person", rule.Quorum)
	}
	return "", ""
}

func needsRetries(s *subject) (Verdict, string) {
	if s.info.Policy.MaxAttempts < 2 {
		return NotApplicable, "the contract allows one attempt"
	}
	return "", ""
}

// settleTooShort is what is wrong when a late write makes a second effect.
func settleTooShort(s *subject) *Change {
	if !s.byAbsence() {
		return nil
	}
	if !s.Lateness.Known {
		return s.change("spec.probe.settle", "a write that arrived within settle was not found: does the look-up see it at once?")
	}
	return s.change("spec.probe.settle", "make settle at least "+s.Lateness.Worst.String()+", the provider's worst lateness; it is "+s.info.Policy.Settle.String())
}

func settleIsTheLimit(s *subject) *Change {
	return s.change("spec.probe.settle", "settle has to be the provider's worst lateness: find it out, and give it as sandbox.lateness")
}

// lateCommit holds a write back for as long as the provider may.
func lateCommit(ctx context.Context, st *stage) error {
	s := st.s
	d := s.waits.deadline * 3 / 2
	switch {
	case s.Lateness.Known:
		d = s.lateness
	case s.probes():
		d = s.waits.settle * 6 / 10
	}
	return lost(faultproxy.HTTPFault{Kind: faultproxy.DeliverLate, Delay: d})(ctx, st)
}

func lateCommitBeyond(ctx context.Context, st *stage) error {
	settle := st.s.waits.settle
	return lost(faultproxy.HTTPFault{Kind: faultproxy.DeliverLate, Delay: max(settle*2, settle+1500*time.Millisecond)})(ctx, st)
}
