package mcpgateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func TestRepeatInOtherWordsGetsTheStoredResult(t *testing.T) {
	t.Parallel()
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.provider.AnswerWith(oncewardtest.Answer{Status: 201, Body: []byte(`{"ref":"T-1","price":1.00,"note":"<b>&"}`)})
			s := w.client(version, nil)
			first := w.call(s, tickets, `{"id":"a","text":"It is broken","amount":1.0}`, nil)
			again := w.call(w.client(version, nil), tickets, `{"amount":1,"text":"Nothing works any more","id":"a"}`, nil)
			if first.IsError || again.IsError || w.provider.Effects() != 1 || w.provider.Writes() != 1 {
				t.Fatalf("%d effects by %d writes: %s, %s", w.provider.Effects(), w.provider.Writes(), text(first), text(again))
			}
			if !reflect.DeepEqual(first.StructuredContent, again.StructuredContent) || first.StructuredContent == nil || !strings.HasPrefix(text(again), text(first)) {
				t.Errorf("the replay differs: %v, %v", first.StructuredContent, again.StructuredContent)
			}
			if text(first) != `{"ref":"T-1","price":1.00,"note":"<b>&"}` {
				t.Errorf("the answer became %s", text(first))
			}
			if m := mark(t, again); m["replayed"] != true || m["decision"] != "replayed" || m["operation"] != mark(t, first)["operation"] {
				t.Errorf("the replay is marked %v", m)
			}
			if !strings.Contains(text(again), "stored result") || strings.Contains(text(first), "stored result") {
				t.Errorf("a model is told %q, then %q", text(first), text(again))
			}
		})
	}
}

func TestTwentyAtOnceAreOneEffectWithEqualAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.AnswerWith(oncewardtest.Answer{Status: 201, Body: []byte(`{"ref":"T-1"}`)})
	held := w.provider.HoldAnswer()
	var sessions []*mcp.ClientSession
	for i := range 20 {
		sessions = append(sessions, w.client([]string{"2025-11-25", "2026-07-28"}[i%2], headers{"Idempotency-Key": "mine-" + string(rune('a'+i))}))
	}
	answers := make([]*mcp.CallToolResult, len(sessions))
	var all sync.WaitGroup
	for i, s := range sessions {
		all.Go(func() {
			answers[i], _ = s.CallTool(t.Context(), &mcp.CallToolParams{Name: tickets, Arguments: json.RawMessage(`{"id":"a"}`)})
		})
	}
	<-held.Reached()
	held.Release()
	all.Wait()
	for _, a := range answers {
		if a == nil || a.IsError || !reflect.DeepEqual(a.StructuredContent, answers[0].StructuredContent) {
			t.Fatalf("an answer differs: %v", a)
		}
	}
	if w.provider.Writes() != 1 || w.provider.Effects() != 1 {
		t.Errorf("%d writes made %d effects", w.provider.Writes(), w.provider.Effects())
	}
}

func TestOtherMaterialArgumentsAreRefusedByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.client("2026-07-28", nil)
	w.call(s, tickets, `{"id":"a","amount":1}`, nil)
	res := w.call(s, tickets, `{"id":"a","amount":2}`, nil)
	if !res.IsError || res.StructuredContent != nil || !strings.Contains(text(res), "amount") || !strings.Contains(text(res), "did nothing") || mark(t, res)["code"] != "key_reused" {
		t.Errorf("%s %v", text(res), res.Meta)
	}
	if w.provider.Effects() != 1 {
		t.Errorf("%d effects", w.provider.Effects())
	}
}

func TestCallThatTakesLongIsAnsweredBeforeItsCallerGivesUp(t *testing.T) {
	t.Parallel()
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *Options) { o.AnswerWithin = 50 * time.Millisecond })
			held := w.provider.HoldAnswer()
			defer held.Release()
			s := w.client(version, nil)
			res := w.call(s, tickets, `{"id":"a"}`, nil)
			id, _ := mark(t, res)["operation"].(string)
			if !res.IsError || res.StructuredContent != nil || !strings.Contains(text(res), id) || !strings.Contains(text(res), StatusTool) {
				t.Fatalf("%s %v", text(res), res.Meta)
			}
			held.Release()
			end := w.call(s, StatusTool, `{"operation_id":"`+id+`","wait_seconds":20}`, nil)
			standing, _ := end.StructuredContent.(map[string]any)
			if end.IsError || standing["state"] != "succeeded" || standing["final"] != true || standing["result"] == nil {
				t.Errorf("in the end it stands so: %v", end.StructuredContent)
			}
			if w.provider.Writes() != 1 {
				t.Errorf("%d writes", w.provider.Writes())
			}
		})
	}
}

func TestUnknownAndRefusedAreToldApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.AnswerWithin = 50 * time.Millisecond })
	w.provider.Script(oncewardtest.FaultAnswerLost, oncewardtest.FaultInvalid)
	s := w.client("2025-11-25", nil)
	unknown := w.call(s, faxes, `{"id":"a"}`, nil)
	if m := mark(t, unknown); !unknown.IsError || unknown.StructuredContent != nil || m["side_effect_possible"] != true || !strings.Contains(text(unknown), "may have happened") {
		t.Errorf("unknown: %s %v", text(unknown), m)
	}
	again := w.call(s, faxes, `{"id":"a"}`, nil)
	if m := mark(t, again); m["operation"] != mark(t, unknown)["operation"] || m["decision"] != "escalated" || w.provider.Writes() != 1 {
		t.Errorf("asked again: %v after %d writes", m, w.provider.Writes())
	}
	refused := w.call(s, faxes, `{"id":"b"}`, nil)
	if m := mark(t, refused); !refused.IsError || m["side_effect_possible"] != false || !strings.Contains(text(refused), "did not happen") {
		t.Errorf("refused: %s %v", text(refused), m)
	}
}

func TestKeyIsTheCallersOrWhatItDoesWithinARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := w.client("2026-07-28", nil)
	if res := w.call(plain, letters, `{"to":"x"}`, nil); !res.IsError || mark(t, res)["code"] != "key_missing" || w.provider.Writes() != 0 {
		t.Fatalf("without key and run: %s", text(res))
	}
	meta := func(name, value string) mcp.Meta { return mcp.Meta{MetaPrefix + name: value} }
	if res := w.call(w.client("2026-07-28", headers{"Idempotency-Key": "k1"}), letters, `{"to":"x"}`, meta("key", "k2")); mark(t, res)["code"] != "key_ambiguous" {
		t.Errorf("two keys: %s", text(res))
	}
	w.call(plain, letters, `{"to":"x"}`, meta("key", "k1"))
	w.call(w.client("2025-11-25", headers{"Idempotency-Key": "k1"}), letters, `{"to":"x"}`, nil)
	if w.provider.Effects() != 1 {
		t.Fatalf("one key made %d effects", w.provider.Effects())
	}
	w.call(plain, letters, `{"to":"x","text":"Dear all"}`, meta("run", "event-1"))
	w.call(w.client("2025-11-25", headers{"Onceward-Run": "event-1"}), letters, `{"text":"Hello everybody","to":"x"}`, nil)
	if w.provider.Effects() != 2 {
		t.Fatalf("one run made %d effects", w.provider.Effects()-1)
	}
	w.call(plain, letters, `{"to":"y"}`, meta("run", "event-1"))
	w.call(plain, letters, `{"to":"x"}`, meta("run", "event-2"))
	if w.provider.Effects() != 4 {
		t.Errorf("another letter and another run made %d effects", w.provider.Effects()-2)
	}
	for _, bad := range []string{"", strings.Repeat("k", 256), "a\nb", " a"} {
		if res := w.call(plain, letters, `{"to":"z"}`, meta("key", bad)); mark(t, res)["code"] != "key_invalid" {
			t.Errorf("the key %.10q: %s", bad, text(res))
		}
	}
	if res := w.call(plain, letters, `{"to":"z"}`, mcp.Meta{MetaPrefix + "key": 7}); mark(t, res)["code"] != "key_invalid" {
		t.Errorf("a number as key: %s", text(res))
	}
}

func TestRunIsHeldToTheRuleOfEveryDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.client("2025-11-25", headers{"Authorization": "Bearer ada"})
	for run, refused := range map[string]bool{strings.Repeat("r", onceward.LabelBytesMax): false, strings.Repeat("r", onceward.LabelBytesMax+1): true, "a\x00b": true, "a\u202eb": true} {
		before := w.provider.Writes()
		res := w.call(s, letters, `{"to":"x"}`, mcp.Meta{MetaPrefix + "run": run})
		if res.IsError != refused || (w.provider.Writes() == before) != refused {
			t.Errorf("a run of %d bytes is answered %s", len(run), text(res))
		}
	}
}

func TestAnotherPrincipalGetsTheStatusAndNotTheResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, ben := headers{"Authorization": "Bearer ada"}, headers{"Authorization": "Bearer ben"}
	first := w.call(w.client("2026-07-28", ada), tickets, `{"id":"a"}`, nil)
	res := w.call(w.client("2026-07-28", ben), tickets, `{"id":"a"}`, nil)
	if w.provider.Effects() != 1 || res.IsError || res.StructuredContent != nil || !strings.Contains(text(res), "belongs to whoever asked first") {
		t.Errorf("%d effects; ben reads %s", w.provider.Effects(), text(res))
	}
	id, _ := mark(t, first)["operation"].(string)
	end := w.call(w.client("2026-07-28", ben), StatusTool, `{"operation_id":"`+id+`"}`, nil)
	if s, _ := end.StructuredContent.(map[string]any); s["state"] != "succeeded" || s["result"] != nil {
		t.Errorf("ben is told %v", end.StructuredContent)
	}
}

func TestSessionIsOfNoUseToAnotherPrincipal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.client("2025-11-25", headers{"Authorization": "Bearer ada"})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tickets.create","arguments":{"id":"a"}}}`))
	w.must(err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer ben", "Mcp-Session-Id": s.ID(), "Mcp-Protocol-Version": "2025-11-25"} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	w.must(err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusForbidden || w.provider.Writes() != 0 {
		t.Errorf("answered %d after %d writes", res.StatusCode, w.provider.Writes())
	}
}

func TestWhoIsNotKnownIsToldWhereToAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+Path, strings.NewReader(`{}`))
	w.must(err)
	req.Header.Set("Authorization", "Bearer stranger")
	res, err := http.DefaultClient.Do(req)
	w.must(err)
	defer res.Body.Close()
	_, address, _ := strings.Cut(res.Header.Get("WWW-Authenticate"), `resource_metadata="`)
	address, _, _ = strings.Cut(address, `"`)
	meta, err := http.Get(address)
	w.must(err)
	defer meta.Body.Close()
	body, _ := io.ReadAll(meta.Body)
	var doc struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal(body, &doc); err != nil || doc.Resource != w.server.URL+Path || len(doc.Servers) != 0 {
		t.Errorf("%q leads to %s (%v)", address, body, err)
	}
}

func TestHeaderThatNamesAnotherToolThanTheBodyClaimsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tickets.create","arguments":{"id":"a"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	for name, want := range map[string]int{"contacts.search": 400, "tickets.create": 200} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+Path, strings.NewReader(body))
		w.must(err)
		for h, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name} {
			req.Header.Set(h, value)
		}
		res, err := http.DefaultClient.Do(req)
		w.must(err)
		answer, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != want || want == 400 && !bytes.Contains(answer, []byte("-32020")) {
			t.Errorf("Mcp-Name %s is answered %d %s", name, res.StatusCode, answer)
		}
	}
	if w.provider.Writes() != 1 {
		t.Errorf("%d writes", w.provider.Writes())
	}
}

func TestEveryCallerThatAskedHearsOfProgressAndNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.ProgressEvery = 5 * time.Millisecond })
	held := w.provider.HoldAnswer()
	defer held.Release()
	type heard struct {
		mu     sync.Mutex
		values []float64
		tokens map[any]bool
	}
	var all sync.WaitGroup
	var ears [3]*heard
	enough := make(chan struct{}, 2)
	for i, version := range []string{"2025-11-25", "2026-07-28", "2026-07-28"} {
		ear := &heard{tokens: map[any]bool{}}
		ears[i] = ear
		s := w.client(version, nil, func(o *mcp.ClientOptions) {
			o.ProgressNotificationHandler = func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				ear.mu.Lock()
				defer ear.mu.Unlock()
				ear.values, ear.tokens[req.Params.ProgressToken] = append(ear.values, req.Params.Progress), true
				if len(ear.values) == 2 {
					enough <- struct{}{}
				}
			}
		})
		var meta mcp.Meta
		if i < 2 {
			meta = mcp.Meta{"progressToken": "p" + string(rune('0'+i))}
		}
		all.Go(func() { w.call(s, tickets, `{"id":"a"}`, meta) })
	}
	<-enough
	<-enough
	held.Release()
	all.Wait()
	for i, ear := range ears {
		ear.mu.Lock()
		if i < 2 && len(ear.tokens) != 1 || i == 2 && len(ear.values) != 0 {
			t.Errorf("caller %d heard %v under %v", i, ear.values, ear.tokens)
		}
		for n := 1; n < len(ear.values); n++ {
			if ear.values[n] <= ear.values[n-1] {
				t.Errorf("caller %d heard %v", i, ear.values)
			}
		}
		ear.mu.Unlock()
	}
	if w.provider.Writes() != 1 {
		t.Errorf("%d writes", w.provider.Writes())
	}
}

func TestCallerThatHangsUpEndsNeitherTheWriteNorItsRecord(t *testing.T) {
	t.Parallel()
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			held := w.provider.HoldAnswer()
			defer held.Release()
			ctx, hangUp := context.WithCancel(t.Context())
			s := w.client(version, nil)
			gone := make(chan error, 1)
			go func() {
				_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tickets, Arguments: json.RawMessage(`{"id":"a"}`)})
				gone <- err
			}()
			<-held.Reached()
			hangUp()
			if err := <-gone; err == nil {
				t.Error("the call was answered")
			}
			held.Release()
			res := w.call(w.client(version, nil), tickets, `{"id":"a"}`, nil)
			if res.IsError || w.provider.Writes() != 1 {
				t.Errorf("%d writes, then %s", w.provider.Writes(), text(res))
			}
		})
	}
}

func TestCallerThatIsGoneBeforeTheClaimLeavesNothing(t *testing.T) {
	t.Parallel()
	for path, name := range map[string]string{Path: "desk.create", Path + "/desk": "createTicket"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			d, asked := &desk{}, make(chan struct{})
			var once sync.Once
			w := newBehind(t, http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				if bytes.Contains(body, []byte(`"tools/list"`)) { // it lists its tools once it is known that the caller is gone
					once.Do(func() { close(asked); <-req.Context().Done() })
				}
				req.Body = io.NopCloser(bytes.NewReader(body))
				d.ServeHTTP(rw, req)
			}), deskWrites)
			ctx, hangUp := context.WithCancel(t.Context())
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{%s,"io.modelcontextprotocol/clientCapabilities":{}},"name":%q,"arguments":{"id":"a"}}}`, modernMeta, name)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.server.URL+path, strings.NewReader(body))
			w.must(err)
			for h, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name} {
				req.Header.Set(h, value)
			}
			gone := make(chan error, 1)
			go func() {
				res, err := http.DefaultClient.Do(req)
				if err == nil {
					_ = res.Body.Close()
				}
				gone <- err
			}()
			<-asked
			hangUp()
			if err := <-gone; err == nil {
				t.Error("the call was answered")
			}
			w.server.Close() // it waits until the call is over
			ops, err := w.ledger.List(t.Context(), onceward.LocalPrincipal(), onceward.Filter{Tenant: "default", Limit: 10})
			if err != nil || len(ops) != 0 || d.made() != 0 {
				t.Errorf("%d operations and %d tickets are left, %v", len(ops), d.made(), err)
			}
		})
	}
}

func TestApprovalIsAskedOutOfBandAndOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.client("2026-07-28", headers{"Authorization": "Bearer ada"})
	res := w.call(s, payouts, `{"id":"a"}`, nil)
	again := w.call(s, payouts, `{"id":"a"}`, nil)
	if !res.IsError || mark(t, res)["state"] != "awaiting_approval" || mark(t, again)["operation"] != mark(t, res)["operation"] || w.provider.Writes() != 0 {
		t.Fatalf("%s, then %s, after %d writes", text(res), text(again), w.provider.Writes())
	}
	if !strings.Contains(text(res), "has not happened") {
		t.Errorf("a model reads %s", text(res))
	}
}

func TestUnknownToolIsAnErrorOfTheProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.client("2026-07-28", headers{"Authorization": "Bearer slim"})
	for _, name := range []string{"nothing.here", tickets} { // the second is not for these credentials
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(`{"id":"a"}`)}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%s: %v", name, err)
		}
	}
	list, err := s.ListTools(t.Context(), nil)
	w.must(err)
	if len(list.Tools) != 2 || list.Tools[0].Name != contacts || list.Tools[1].Name != StatusTool || list.CacheScope != "private" {
		t.Errorf("it is offered %v", list.Tools)
	}
}

func TestHintsAreWrittenOutAndNoSchemaAsksForAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list, err := w.client("2025-11-25", nil).ListTools(t.Context(), nil)
	w.must(err)
	want := map[string][3]bool{tickets: {false, true, true}, letters: {false, true, false}, contacts: {true, false, true}}
	for _, tool := range list.Tools {
		a := tool.Annotations
		if a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil {
			t.Fatalf("%s leaves hints out: %v", tool.Name, a)
		}
		if w, ok := want[tool.Name]; ok && w != [3]bool{a.ReadOnlyHint, *a.DestructiveHint, a.IdempotentHint} {
			t.Errorf("%s has the hints %+v", tool.Name, a)
		}
		schema, _ := json.Marshal(tool.InputSchema)
		if bytes.Contains(bytes.ToLower(schema), []byte("idempotency")) {
			t.Errorf("%s asks a model for a key: %s", tool.Name, schema)
		}
	}
}

func TestEveryCodeHasItsAnswer(t *testing.T) {
	t.Parallel()
	for _, code := range onceward.AllCodes {
		if shapes[code] == 0 {
			t.Errorf("%s has none", code)
		}
	}
	if len(shapes) != len(onceward.AllCodes) {
		t.Errorf("%d codes have an answer, and there are %d", len(shapes), len(onceward.AllCodes))
	}
}
