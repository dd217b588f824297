package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testdb"
)

// told is the story of docs/operating/story.md.
type told struct {
	*guide
	provider, second string // addresses
}

const (
	toldOperation = "op_u4bg70ae7qgmank42u9h5alrik"
	toldEffect    = "+49301234567 e90a307772d2" // as the provider names a fax: number, and digest of "We refund 50 EUR."
)

// Two people and an agent, by the commands of the page, on two replicas: the
// chain of request, edit, yes, crash before the dispatch, unknown, review and
// replay ends with one effect, of the edited input, and with a trail that shows it.
func TestTwoPeopleAndAnAgentGetOneEffectThroughEditCrashReviewAndReplay(t *testing.T) {
	t.Parallel()
	s := tell(t)
	s.play("Who is who")
	s.asked(s.play("The agent asks"))
	s.edited(s.play("Alice corrects it"))
	s.crashed()
	s.unknown(s.play("The other replica settles it"))
	s.replayed(s.play("Bob takes the review, and replays"))
	s.repeated(s.play("The agent asks again"))
	s.shown()
	for heading := range s.sections {
		t.Errorf("the commands under %q were not run", heading)
	}
}

func tell(t *testing.T) *told {
	t.Helper()
	dsn := testdb.Cluster(t).DSN()
	provider, first, second := proctest.FreeAddress(t), proctest.FreeAddress(t), proctest.FreeAddress(t)
	p := readGuide(t, "../../docs/operating/story.md", "127.0.0.1:7070", provider, "127.0.0.1:8686", first, "127.0.0.1:8687", second,
		"postgres://onceward@localhost/onceward", dsn)
	return &told{p, provider, second}
}

// holds wants the parts in what a command printed, in this order.
func (s *told) holds(printed string, parts ...string) {
	s.t.Helper()
	rest := printed
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			s.t.Fatalf("%q does not follow in:\n%s", part, printed)
		}
		rest = after
	}
}

// is reads the operation by the API, and wants it in a state after a number of attempts.
func (s *told) is(state string, attempts, open int) {
	s.t.Helper()
	var a proctest.Answer
	if err := json.Unmarshal(s.ask("GET", "http://"+s.second+"/v1/operations/"+toldOperation, "story/auditor"), &a); err != nil {
		s.t.Fatal(err)
	}
	if o := a.Operation; o.State != state || o.Attempts != attempts || o.OpenAttempts != open {
		s.t.Fatalf("it is %+v, want %s after %d attempts, %d open", o, state, attempts, open)
	}
}

// effects wants so many effects at the provider, whatever they are called.
func (s *told) effects(want int) {
	s.t.Helper()
	var all struct {
		Count, Requests, Pending int
		Items                    []struct{ Aliases []string }
	}
	if err := json.Unmarshal(s.ask("GET", "http://"+s.provider+"/effects/summary", ""), &all); err != nil {
		s.t.Fatal(err)
	}
	if all.Count != want || all.Requests != want || all.Pending != 0 {
		s.t.Fatalf("the provider counts %+v, want %d", all, want)
	}
	if want == 1 && (len(all.Items) != 1 || len(all.Items[0].Aliases) != 1 || all.Items[0].Aliases[0] != toldEffect) {
		s.t.Fatalf("the provider did %+v, want %s", all.Items, toldEffect)
	}
}

func (s *told) asked(printed []string) {
	s.t.Helper()
	s.holds(printed[1], "complaints.answer 1", "by token:agent", "fresh")
	s.holds(printed[2], "pinned", `{"amount":500,"justified":true}`, "refund", "fresh")
	s.holds(printed[3], toldOperation, "awaiting_approval", "fresh")
	s.holds(printed[4], "done", "pinned refund", "waiting", "awaiting_approval")
	s.is("awaiting_approval", 0, 0)
	s.effects(0)
}

func (s *told) edited(printed []string) {
	s.t.Helper()
	s.holds(printed[1], toldOperation, "token:agent", "0 of 1")
	s.holds(printed[2], `"amount":500`, "We refund 500 EUR.")
	s.holds(printed[3], "awaiting_approval")
	s.holds(printed[4], "whoever asked for it, or edited it, may not approve it")
	s.holds(printed[5], "token:alice replaced by an edit")
	s.is("awaiting_approval", 0, 0)
	shown, _ := s.shell("onceward approval show " + toldOperation + " --token-file story/bob")
	s.holds(shown, "token:alice", `"amount":50,`, "We refund 50 EUR.", "you may answer")
}

// crashed stops the second replica meanwhile, so that the first is surely the
// one that starts the attempt.
func (s *told) crashed() {
	s.t.Helper()
	first, second := s.processes[1], s.processes[2]
	second.signal(s.t, syscall.SIGSTOP)
	s.yes("Bob says yes, and the server dies")
	if end := first.ended(s.t); !strings.Contains(end, "killed") {
		s.t.Fatalf("the first replica did not die: %s", end)
	}
	second.signal(s.t, syscall.SIGCONT)
	s.effects(0)
}

// yes says it to a server that may die before it has answered.
func (s *told) yes(heading string) {
	s.t.Helper()
	blocks := s.sections[heading]
	delete(s.sections, heading)
	if len(blocks) != 1 || len(blocks[0].commands()) != 1 {
		s.t.Fatalf("the page has other than one command under %q", heading)
	}
	switch printed, code := s.run(s.replace.Replace(blocks[0].commands()[0])); code {
	case "0":
		s.holds(printed, toldOperation, "ready")
	case "7":
		s.holds(printed, "may have been recorded")
	default:
		s.t.Fatalf("the yes exits %s:\n%s", code, printed)
	}
}

func (s *told) unknown(printed []string) {
	s.t.Helper()
	s.holds(printed[1], "needs_review", "the input differs from the decision: edited by token:alice: amount", "1 may have had an effect", "approval_edited", "a zero too many; by token:alice",
		"approval_granted", "token:bob", "attempt_started (attempt 1)", "effect_pending -> outcome_unknown", "outcome_unknown -> needs_review")
	s.holds(printed[2], "needs_review", "escalated")
	s.is("needs_review", 1, 1)
	s.effects(0)
}

func (s *told) replayed(printed []string) {
	s.t.Helper()
	s.holds(printed[0], toldOperation, "customer-care")
	s.holds(printed[1], toldOperation)
	s.holds(printed[2], "review_taken", "token:bob", "nobody can tell")
	s.holds(printed[3], `"count":0`)
	s.holds(printed[4], "needs_confirmation", "may have had their effect", "confirm with")
	s.holds(printed[5], "confirm with exactly this sentence")
	s.holds(printed[7], "succeeded", "replay_requested", "token:bob", "attempt_started (attempt 2)", "attempt_done (attempt 2)")
	if strings.Count(printed[7], "approval_granted") != 1 {
		s.t.Errorf("somebody was asked again:\n%s", printed[7])
	}
	s.holds(printed[8], `"count":1`)
	s.is("succeeded", 2, 1)
	s.effects(1)
}

func (s *told) repeated(printed []string) {
	s.t.Helper()
	s.holds(printed[0], toldOperation, "succeeded", "replayed")
	s.holds(printed[1], "finished succeeded")
	s.is("succeeded", 2, 1)
	s.effects(1)
}

// shown wants the figures, a trail that is whole, and the row that was edited
// to be named, which is whole again once the bit is flipped back.
func (s *told) shown() {
	s.t.Helper()
	for until := time.Now().Add(30 * time.Second); ; <-time.After(50 * time.Millisecond) {
		if out, _ := s.shell("onceward audit verify --json"); strings.Contains(out, `"unsealed_rows": 0`) {
			break
		} else if time.Now().After(until) {
			s.t.Fatalf("the trail is never sealed:\n%s", out)
		}
	}
	printed := s.play("What is left to show")
	s.figures()
	s.holds(printed[1], "token:agent", "decision_pinned", "token:alice", "approval_edited", "token:bob", "approval_granted",
		"lease_expired", "settle_overdue", "token:bob", "review_taken", "token:bob", "replay_requested", "attempt_done", "run_finished")
	s.holds(printed[2], "1 operations are as the journal says", "whole")
	s.holds(printed[3], "UPDATE 1")
	s.holds(printed[4], "BROKEN  operations, "+toldOperation, "was edited")
	s.sql("update operations set input = set_byte(input, 10, get_byte(input, 10) # 1)")
	if out, code := s.shell("onceward audit verify"); code != "0" {
		s.t.Errorf("the row as it was is not whole: %s", out)
	}
}

func (s *told) figures() {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "story/report.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	type answered struct{ Fresh, Replayed, Joined, Blocked, Escalated int }
	type waits struct{ Began, Ended, Waiting int }
	var r struct {
		Report struct {
			Total answered
			Tools []struct {
				Tool     string
				Answered answered
				Unknown  int
			}
			Approvals, Reviews, Unknowns waits
			Events                       map[string]int
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		s.t.Fatal(err)
	}
	got, want, once := r.Report, answered{Fresh: 1, Replayed: 1, Escalated: 1}, waits{Began: 1, Ended: 1}
	if got.Total != want || len(got.Tools) != 1 || got.Tools[0].Tool != "refunds.promise" || got.Tools[0].Answered != want || got.Tools[0].Unknown != 1 {
		s.t.Errorf("answered: %+v %+v", got.Total, got.Tools)
	}
	if got.Approvals != once || got.Reviews != once || got.Unknowns != once {
		s.t.Errorf("approvals %+v, reviews %+v, unknowns %+v: each came once and ended", got.Approvals, got.Reviews, got.Unknowns)
	}
	for event, n := range map[string]int{"approval_edited": 1, "approval_granted": 1, "attempt_started": 2, "attempt_done": 1, "replay_requested": 1} {
		if got.Events[event] != n {
			s.t.Errorf("%s stands there %d times, want %d", event, got.Events[event], n)
		}
	}
}
