package sim_test

import (
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/provider/httpcall"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is the bundled provider, its contracts, and the real client between.
type bench struct {
	t        *testing.T
	provider *simprovider.Server
	client   *httpcall.Client
	tools    *contract.Set
}

func setUp(t *testing.T) *bench {
	t.Helper()
	provider := simprovider.New(simprovider.Options{})
	server := httptest.NewServer(provider.Handler())
	client := httpcall.New(httpcall.Options{})
	t.Cleanup(func() {
		client.Close()
		if err := provider.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	tools, err := contract.LoadDir([]string{"."}, contract.Options{Env: func(name string) (string, bool) {
		return server.URL, name == "SIM_URL"
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, provider: provider, client: client, tools: tools}
}

// intent prepares an operation as the ledger would.
func (b *bench) intent(tool, input string) (*contract.Tool, *onceward.Operation) {
	b.t.Helper()
	found, ok := b.tools.Tool(onceward.ToolName(tool))
	if !ok {
		b.t.Fatalf("no tool %s", tool)
	}
	in := &onceward.Intent{Principal: onceward.Principal{Tenant: "t1"}, Tool: found.Info().Name, Input: []byte(input)}
	prepared, err := found.Prepare(in, 0)
	if err != nil {
		b.t.Fatalf("prepare %s: %v", tool, err)
	}
	id := onceward.Identity{Tenant: "t1", Tool: found.Info().Name, Key: prepared.Key}
	return found, &onceward.Operation{
		ID: id.OperationID(), Tenant: "t1", Tool: found.Info().Name, Key: prepared.Key,
		ProviderKey: prepared.ProviderKey, Input: prepared.Input, Request: prepared.Request,
		Effect: found.Info().Policy.Effect, ApprovalNeeded: prepared.Approval, SerialKey: prepared.SerialKey,
	}
}

// attempt sends the operation once under a fault, and judges what was seen.
func (b *bench) attempt(tool *contract.Tool, op *onceward.Operation, fault string) onceward.Judgement {
	b.t.Helper()
	if fault != "" {
		parsed, err := simprovider.ParseFault(fault)
		if err != nil {
			b.t.Fatal(err)
		}
		on := "write"
		if !op.Effect.Writes() {
			on = "read"
		}
		if _, err := b.provider.AddFaults(simprovider.Script{Match: simprovider.Match{On: on}, Faults: []simprovider.Fault{parsed}}); err != nil {
			b.t.Fatal(err)
		}
	}
	ev := b.client.Send(b.t.Context(), op.Request, onceward.SendOptions{
		Write: op.Effect.Writes(), Deadline: 5 * time.Second, Hosts: tool.Info().Hosts,
	})
	return tool.Judge(op, &ev)
}

// look probes for the operation's effects that are its own.
func (b *bench) look(tool *contract.Tool, op *onceward.Operation) []string {
	b.t.Helper()
	req, err := tool.ProbeRequest(op)
	if err != nil {
		b.t.Fatal(err)
	}
	ev := b.client.Send(b.t.Context(), req, onceward.SendOptions{Deadline: 5 * time.Second, Hosts: tool.Info().Hosts})
	judged := tool.JudgeProbe(op, &ev)
	if !judged.Conclusive {
		b.t.Fatalf("probe is not conclusive: %+v", judged.Failure)
	}
	var ours []string
	for _, effect := range judged.Found {
		if effect.Ours {
			ours = append(ours, effect.Reference)
		}
	}
	return ours
}

// write is one of the contracts with an input and the name that the provider
// counts its effects under.
type write struct{ tool, input, audited string }

var writes = []write{
	{"tickets.create", `{"source":"stripe","event_id":"e1","subject":"Broken","body":"All of it"}`, "stripe/e1"},
	{"tickets.close", `{"id":"T-1"}`, "T-1/closed"},
	{"payments.create", `{"order_id":"o1","amount":1200,"currency":"EUR"}`, "o1"},
	{"payments.refund", `{"payment_id":"P-1","reason_id":"return-5","amount":200}`, "P-1/return-5"},
	{"mail.send", `{"case_id":"c1","template":"received","to":"ada@example.com","subject":"Hello","body":"We have it."}`, "c1/received"},
	{"contacts.upsert", `{"external_id":"k 7","change_id":"v1","name":"Ada","email":"ada@example.com"}`, "k 7/v1"},
	{"fax.send", `{"case_id":"f1","to":"+15550100","document":"Contract"}`, "f1"},
}

// furnish makes what the writes are about: a ticket to close, a payment to refund.
func (b *bench) furnish(w write) {
	b.t.Helper()
	before := map[string]string{
		"tickets.close":   `{"source":"shop","event_id":"old","subject":"x"}`,
		"payments.refund": `{"order_id":"old","amount":1200,"currency":"EUR"}`,
	}
	if input, ok := before[w.tool]; ok {
		maker := map[string]string{"tickets.close": "tickets.create", "payments.refund": "payments.create"}[w.tool]
		tool, op := b.intent(maker, input)
		if j := b.attempt(tool, op, ""); j.Verdict != onceward.VerdictDone {
			b.t.Fatalf("furnish: %+v", j)
		}
	}
}

func (b *bench) wantEffects(w write, want int) {
	b.t.Helper()
	if got := b.provider.Effects(w.audited).Items; len(got) == 0 && want == 0 {
		return
	} else if len(got) != 1 || got[0].Count != want {
		b.t.Errorf("%s under %q: %+v, want %d effects", w.tool, w.audited, got, want)
	}
}

func TestEveryWriteIsDoneAndNamed(t *testing.T) {
	t.Parallel()
	references := map[string]string{
		"tickets.create": "T-1", "tickets.close": "T-1", "payments.create": "P-1", "payments.refund": "R-1",
		"mail.send": "M-1", "contacts.upsert": "C-1", "fax.send": "", // a fax has no name
	}
	for _, w := range writes {
		t.Run(w.tool, func(t *testing.T) {
			t.Parallel()
			b := setUp(t)
			b.furnish(w)
			tool, op := b.intent(w.tool, w.input)
			if op.ApprovalNeeded {
				t.Error("asks for approval")
			}
			j := b.attempt(tool, op, "")
			if j.Verdict != onceward.VerdictDone || j.Reference != references[w.tool] {
				t.Errorf("judged %+v, want done as %q", j, references[w.tool])
			}
			b.wantEffects(w, 1)
		})
	}
}

func TestEveryContractJudgesFaultsAlike(t *testing.T) {
	t.Parallel()
	unknown := []string{
		"drop_before_commit", "drop_after_commit", "late_commit;delay=1h", "error_before_commit;status=503",
		"error_after_commit", "error_after_commit;status=502", "redirect",
	}
	notDone := []string{"rate_limited;retry_after=3", "unauthorized", "forbidden"}
	done := []string{"cut_body", "not_json", "slow;delay=1ms", "duplicate_delivery"}
	for _, w := range writes {
		t.Run(w.tool, func(t *testing.T) {
			t.Parallel()
			check := func(fault string, want onceward.Verdict) {
				b := setUp(t)
				b.furnish(w)
				tool, op := b.intent(w.tool, w.input)
				if j := b.attempt(tool, op, fault); j.Verdict != want {
					t.Errorf("%s: judged %s by %s (%s), want %s", fault, j.Verdict, j.Rule, j.Failure.Code, want)
				} else if fault == "not_json" && tool.Info().Policy.HasProbe && !j.Unread {
					t.Errorf("%s: the reference could not be read, and nothing says so: it is not looked up", fault)
				}
			}
			for _, fault := range unknown {
				check(fault, onceward.VerdictUnknown)
			}
			for _, fault := range notDone {
				check(fault, onceward.VerdictNotDone)
			}
			for _, fault := range done {
				check(fault, onceward.VerdictDone)
			}
		})
	}
}

func TestLostAnswerIsSettledAsItsClassSays(t *testing.T) {
	t.Parallel()
	for _, w := range writes {
		t.Run(w.tool, func(t *testing.T) {
			t.Parallel()
			b := setUp(t)
			b.furnish(w)
			tool, op := b.intent(w.tool, w.input)
			b.attempt(tool, op, "drop_after_commit")
			b.wantEffects(w, 1)
			if op.Effect == onceward.EffectKeyedWrite || op.Effect == onceward.EffectConditionalWrite { // sent again, byte for byte
				if j := b.attempt(tool, op, ""); j.Verdict != onceward.VerdictDone || j.Reference == "" {
					t.Errorf("second attempt: %+v", j)
				}
				b.wantEffects(w, 1)
			}
			if tool.Info().Policy.HasProbe {
				if found := b.look(tool, op); len(found) != 1 || found[0] == "" {
					t.Errorf("probe found %q, want the one effect", found)
				}
			}
		})
	}
}

func TestLostRequestIsFoundAbsent(t *testing.T) {
	t.Parallel()
	for _, w := range writes {
		t.Run(w.tool, func(t *testing.T) {
			t.Parallel()
			b := setUp(t)
			b.furnish(w)
			tool, op := b.intent(w.tool, w.input)
			if !tool.Info().Policy.HasProbe {
				return // tickets.close, contacts.upsert and fax.send have nothing to look up
			}
			b.attempt(tool, op, "drop_before_commit")
			if found := b.look(tool, op); len(found) != 0 {
				t.Errorf("probe found %q", found)
			}
			b.wantEffects(w, 0)
			b.attempt(tool, op, "duplicate_delivery")
			if found := b.look(tool, op); len(found) != 2 {
				t.Errorf("probe found %q after a provider broke its word, want two", found)
			}
		})
	}
}

func TestAnotherIntentionIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	tool, first := b.intent("payments.create", `{"order_id":"o1","amount":1200,"currency":"EUR"}`)
	b.attempt(tool, first, "")
	for _, reason := range []string{"a", "b"} {
		tool, op := b.intent("payments.refund", `{"payment_id":"P-1","reason_id":"`+reason+`","amount":1}`)
		if found := b.look(tool, op); len(found) != 0 {
			t.Errorf("refund %s was found before it was sent: %q", reason, found)
		}
		b.attempt(tool, op, "")
		if found := b.look(tool, op); len(found) != 1 {
			t.Errorf("refund %s: found %q", reason, found)
		}
	}
}

func TestKeyedWritesReadWhatTheProviderSaysAboutTheKey(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	tool, op := b.intent("payments.create", `{"order_id":"o1","amount":1200,"currency":"EUR"}`)
	if j := b.attempt(tool, op, "in_progress"); j.Verdict != onceward.VerdictInProgress || j.RetryAfter != time.Second {
		t.Errorf("in progress: %+v", j)
	}
	b.attempt(tool, op, "")
	_, other := b.intent("payments.create", `{"order_id":"o1","amount":1300,"currency":"EUR"}`)
	if j := b.attempt(tool, other, ""); j.Verdict != onceward.VerdictUnknown {
		t.Errorf("same key, other body: %+v", j)
	}
	_, tooMuch := b.intent("payments.refund", `{"payment_id":"P-1","reason_id":"r","amount":9999}`)
	refund, _ := b.tools.Tool("payments.refund")
	if j := b.attempt(refund, tooMuch, ""); j.Verdict != onceward.VerdictNotDone || j.Failure.Retryable {
		t.Errorf("more than was paid: %+v", j)
	}
}

func TestClosingAClosedTicketIsDone(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.furnish(writes[1])
	tool, op := b.intent("tickets.close", `{"id":"T-1"}`)
	for range 2 {
		if j := b.attempt(tool, op, ""); j.Verdict != onceward.VerdictDone || j.Reference != "T-1" {
			t.Errorf("judged %+v", j)
		}
	}
	_, missing := b.intent("tickets.close", `{"id":"T-9"}`)
	if j := b.attempt(tool, missing, ""); j.Verdict != onceward.VerdictNotDone {
		t.Errorf("a ticket that is not there: %+v", j)
	}
}

func TestContactIsReadBack(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	read, get := b.intent("contacts.get", `{"external_id":"k 7"}`)
	if j := b.attempt(read, get, ""); j.Verdict != onceward.VerdictNotDone {
		t.Errorf("nobody there: %+v", j)
	}
	tool, op := b.intent("contacts.upsert", `{"external_id":"k 7","change_id":"v1","name":"Ada"}`)
	if op.SerialKey != "k 7" {
		t.Errorf("serialised by %q", op.SerialKey)
	}
	b.attempt(tool, op, "")
	if j := b.attempt(read, get, ""); j.Verdict != onceward.VerdictDone {
		t.Errorf("read: %+v", j)
	}
}

func TestUrgentTicketWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	for priority, want := range map[string]bool{"normal": false, "urgent": true} {
		_, op := b.intent("tickets.create", `{"source":"s","event_id":"`+priority+`","subject":"x","priority":"`+priority+`"}`)
		if op.ApprovalNeeded != want {
			t.Errorf("%s: approval needed is %t", priority, op.ApprovalNeeded)
		}
	}
}

func TestCompensationFitsTheToolThatUndoes(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	for _, w := range []write{writes[0], writes[2]} {
		tool, op := b.intent(w.tool, w.input)
		op.Reference = b.attempt(tool, op, "").Reference
		name, input, ok, err := tool.Compensation(op)
		if !ok || err != nil {
			t.Fatalf("%s: %t %v", w.tool, ok, err)
		}
		undo, undoing := b.intent(string(name), string(input))
		if j := b.attempt(undo, undoing, ""); j.Verdict != onceward.VerdictDone {
			t.Errorf("%s by %s: %+v", w.tool, name, j)
		}
	}
}

func TestLintHasNothingAgainstTheExamples(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{".", "../contracts"} {
		set, err := contract.LoadDir([]string{folder}, contract.Options{
			Env:      func(string) (string, bool) { return "http://127.0.0.1:1", true },
			ByteTail: contract.NoByteTail,
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, findings := range set.Lint() {
			for _, f := range findings {
				if f.Severity != contract.SeverityInfo {
					t.Errorf("%s, line %d: %s %s: %s", name, f.Line, f.Severity, f.Rule, f.Message)
				}
			}
		}
	}
}

// The teaching contracts load as they stand, with nothing in the environment.
func TestTeachingContractsLoadWithoutSurroundings(t *testing.T) {
	t.Parallel()
	tools, err := contract.LoadDir([]string{"../contracts"}, contract.Options{Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]bool{}
	for _, tool := range tools.Tools() {
		classes[tool.Info().Policy.Effect.String()] = true
	}
	for _, file := range []string{"read", "compute", "keyed_write", "conditional_write", "probed_write", "unsafe_write"} {
		if !classes[file] {
			t.Errorf("no contract of class %s in %s.yaml", file, filepath.Join("..", "contracts", file))
		}
	}
}
