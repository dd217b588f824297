package simprovider

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTicketSentTwiceIsTwoTickets(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	first := s.must(201, "POST", "/tickets", ticketBody("evt-1"), "Idempotency-Key", "k")
	second := s.must(201, "POST", "/tickets", ticketBody("evt-1"), "Idempotency-Key", "k")
	if first.field(t, "id") == second.field(t, "id") {
		t.Error("tickets honoured a key")
	}
	if items := s.items("/tickets?external_id=evt-1"); len(items) != 2 {
		t.Errorf("search finds %d tickets, want 2", len(items))
	}
	if items := s.items("/tickets?external_id=evt-2"); len(items) != 0 {
		t.Errorf("search for another finds %d", len(items))
	}
	s.wantCount("evt-1", 2, 2)
}

func TestTicketIsClosedOnce(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/tickets", ticketBody("evt-1"))
	if got := s.must(200, "POST", "/tickets/T-1/close", "").field(t, "status"); got != "closed" {
		t.Errorf("status %v", got)
	}
	if code := s.must(409, "POST", "/tickets/T-1/close", "").code(t); code != "already_closed" {
		t.Errorf("code %q", code)
	}
	s.must(404, "POST", "/tickets/T-9/close", "")
	if got := s.must(200, "GET", "/tickets/T-1", "").field(t, "status"); got != "closed" {
		t.Errorf("stored status %v", got)
	}
	rows := s.report("T-1").Items
	if len(rows) != 2 || rows[1].Action != "close" || rows[1].Count != 1 || rows[1].Requests != 2 {
		t.Errorf("rows of T-1: %+v", rows)
	}
	if len(s.items("/tickets?external_id=evt-1")) != 1 {
		t.Error("closing a ticket made it appear twice")
	}
}

func TestPaymentUnderOneKeyIsReplayed(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	first := s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	if first.header.Get("Idempotent-Replayed") != "" {
		t.Error("the first answer calls itself replayed")
	}
	s.clock.advance(24*time.Hour - time.Second)
	second := s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	if second.header.Get("Idempotent-Replayed") != "true" || second.body != first.body {
		t.Errorf("replay differs: %v %s", second.header, second.body)
	}
	s.wantCount("o1", 1, 2)
}

func TestPaymentKeyForgottenAfterRetentionIsANewPayment(t *testing.T) {
	t.Parallel()
	s := start(t, Options{KeyRetention: time.Hour})
	s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	s.clock.advance(time.Hour)
	g := s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	if g.header.Get("Idempotent-Replayed") != "" {
		t.Error("a forgotten key was replayed")
	}
	s.wantCount("o1", 2, 2)
	if len(s.items("/payments?reference=o1")) != 2 {
		t.Error("search does not show both payments")
	}
}

func TestPaymentKeyWithOtherBytesIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	other := strings.Replace(paymentBody("o1"), "1200", "1201", 1)
	if code := s.must(422, "POST", "/payments", other, "Idempotency-Key", "k1").code(t); code != "idempotency_mismatch" {
		t.Errorf("code %q", code)
	}
	reordered := `{"reference":"o1","amount":1200,"currency":"EUR"}`
	if code := s.must(422, "POST", "/payments", reordered, "Idempotency-Key", "k1").code(t); code != "idempotency_mismatch" {
		t.Errorf("a body rendered anew passed: %q", code)
	}
	if code := s.must(422, "POST", "/payments/P-1/refund", paymentBody("o1"), "Idempotency-Key", "k1").code(t); code != "idempotency_mismatch" {
		t.Errorf("the key of a payment passed for a refund: %q", code)
	}
	s.wantCount("k1", 1, 4)
}

func TestPaymentWhileItsKeyIsInFlightIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	first := make(chan got, 1)
	go func() {
		first <- s.doContext(t.Context(), "POST", "/payments", paymentBody("o1"),
			"Idempotency-Key", "k1", FaultHeader, "slow;at=before;delay=2s")
	}()
	s.clock.awaitTimers(1)
	busy := s.must(409, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	if busy.code(t) != "idempotency_in_progress" || busy.header.Get("Retry-After") == "" {
		t.Errorf("in flight: %v %s", busy.header, busy.body)
	}
	s.wantCount("o1", 0, 2)
	s.clock.advance(2 * time.Second)
	if g := <-first; g.status != 201 {
		t.Fatalf("first: %+v", g)
	}
	s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	s.wantCount("o1", 1, 3)
}

func TestPaymentKeyRacedByManyIsOneEffect(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if g := s.doContext(t.Context(), "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1"); g.status != 201 && g.status != 409 {
				t.Errorf("got %+v", g)
			}
		})
	}
	all.Wait()
	s.wantCount("o1", 1, 20)
}

func TestPaymentWithoutKeyIsNeverReplayed(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/payments", paymentBody("o1"))
	s.must(201, "POST", "/payments", paymentBody("o1"))
	s.wantCount("o1", 2, 2)
}

func TestRefundIsKeyedAndNeverMoreThanPaid(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	part := `{"amount":200,"reference":"r1"}`
	first := s.must(201, "POST", "/payments/P-1/refund", part, "Idempotency-Key", "k2")
	if second := s.must(201, "POST", "/payments/P-1/refund", part, "Idempotency-Key", "k2"); second.body != first.body {
		t.Errorf("replay differs: %s", second.body)
	}
	if code := s.must(422, "POST", "/payments/P-1/refund", `{"amount":1001}`, "Idempotency-Key", "k3").code(t); code != "amount_exceeds_payment" {
		t.Errorf("code %q", code)
	}
	if amount := s.must(201, "POST", "/payments/P-1/refund", "", "Idempotency-Key", "k4").field(t, "amount"); amount != 1000.0 {
		t.Errorf("refund of the rest is %v, want 1000", amount)
	}
	s.must(422, "POST", "/payments/P-1/refund", "", "Idempotency-Key", "k5")
	s.must(404, "POST", "/payments/P-9/refund", "", "Idempotency-Key", "k6")
	paid := s.must(200, "GET", "/payments/P-1", "")
	if paid.field(t, "status") != "refunded" || len(paid.field(t, "refunds").([]any)) != 2 {
		t.Errorf("payment: %s", paid.body)
	}
	s.wantCount("r1", 1, 2)
	s.wantCount("o1", 1, 1)
}

func TestMailIsSearchableAndHonoursNoKey(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	body := `{"to":"ada@example.com","subject":"Hello","message_id":"<m1>"}`
	if id := s.must(202, "POST", "/mail", body, "Idempotency-Key", "k").field(t, "id"); id != "M-1" {
		t.Errorf("id %v", id)
	}
	s.must(202, "POST", "/mail", body, "Idempotency-Key", "k")
	if len(s.items("/mail?message_id=%3Cm1%3E")) != 2 {
		t.Error("search does not show both mails")
	}
	if g := s.must(200, "GET", "/mail?message_id=%3Cm1%3E", ""); !strings.Contains(g.body, `"<m1>"`) {
		t.Errorf("the message ID is not readable: %s", g.body)
	}
	s.wantCount("%3Cm1%3E", 2, 2)
}

func TestContactUpsertRepeatedIsOneEffectButRunsAutomationsAgain(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	path := "/contacts/by-external-id/ada%2Flovelace"
	s.must(404, "GET", path, "")
	created := s.must(201, "PUT", path, `{"name":"Ada","n":9007199254740993}`)
	if created.field(t, "external_id") != "ada/lovelace" {
		t.Errorf("external ID: %s", created.body)
	}
	again := s.must(200, "PUT", path, `{"n":9007199254740993,"name":"Ada"}`)
	if again.field(t, "id") != created.field(t, "id") || again.header.Get("ETag") != `"1"` {
		t.Errorf("repeat: %v %s", again.header, again.body)
	}
	row := s.report("ada%2Flovelace").Items[0]
	if row.Count != 1 || row.Requests != 2 || row.Automations != 2 || row.Reads != 1 {
		t.Errorf("after a repeat: %+v", row)
	}
	s.must(200, "PUT", path, `{"name":"Ada","n":9007199254740992}`)
	s.wantCount("ada%2Flovelace", 2, 3)
	if g := s.must(200, "GET", path, ""); g.header.Get("ETag") != `"2"` || g.field(t, "automations") != 3.0 {
		t.Errorf("get: %v %s", g.header, g.body)
	}
}

func TestContactCreatedOnlyIfNew(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	path := "/contacts/by-external-id/ada"
	s.must(201, "PUT", path, `{"name":"Ada"}`, "If-None-Match", "*")
	if code := s.must(412, "PUT", path, `{"name":"Eve"}`, "If-None-Match", "*").code(t); code != "already_exists" {
		t.Errorf("code %q", code)
	}
	s.must(400, "PUT", path, `{"name":"Eve"}`, "If-None-Match", `"1"`)
	if row := s.report("ada").Items[0]; row.Count != 1 || row.Automations != 1 {
		t.Errorf("row: %+v", row)
	}
}

func TestFaxTellsNothing(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	g := s.must(200, "POST", "/fax", `{"to":"+15550100","document":"Contract","reference":"f1"}`)
	if strings.TrimSpace(g.body) != `{"accepted":true}` {
		t.Errorf("answer: %s", g.body)
	}
	s.must(404, "GET", "/fax/F-1", "")
	s.must(200, "POST", "/fax", `{"to":"+15550100","document":"Contract","reference":"f1"}`)
	s.wantCount("f1", 2, 2)
	s.wantCount("%2B15550100+"+digest([]byte("Contract")), 2, 2)
}

func TestAuditReferenceIsWhatEffectsAreCountedUnder(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/tickets", `{"title":"a","external_id":"key-1","audit_reference":"event-7"}`)
	s.must(201, "POST", "/tickets", `{"title":"a","external_id":"key-2","audit_reference":"event-7"}`)
	s.wantCount("event-7", 2, 2)
	row := s.report("key-1").Items[0]
	if row.Reference != "event-7" || len(row.Aliases) != 2 {
		t.Errorf("row: %+v", row)
	}
}

func TestBadInputIsRefusedAndLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	for _, bad := range []struct {
		status             int
		method, path, body string
	}{
		{400, "POST", "/tickets", `{"title":`},
		{400, "POST", "/tickets", `[1]x`},
		{422, "POST", "/tickets", `{"title":7}`},
		{422, "POST", "/tickets", `{"text":"no title"}`},
		{422, "POST", "/payments", `{"amount":0,"currency":"EUR"}`},
		{422, "POST", "/payments", `{"amount":1.5,"currency":"EUR"}`},
		{422, "POST", "/payments", `{"amount":1,"currency":"EURO"}`},
		{422, "POST", "/payments/P-1/refund", `{"amount":-1}`},
		{422, "POST", "/mail", `{"subject":"x"}`},
		{400, "PUT", "/contacts/by-external-id/a", `null`},
		{400, "PUT", "/contacts/by-external-id/a", `{} {}`},
		{422, "POST", "/fax", `{"to":"+1"}`},
		{422, "GET", "/tickets", ""},
		{413, "POST", "/tickets", `{"title":"` + strings.Repeat("x", BodyBytesMax) + `"}`},
	} {
		g := s.must(bad.status, bad.method, bad.path, bad.body)
		if g.code(t) == "" {
			t.Errorf("%s %s: no code in %s", bad.method, bad.path, g.body)
		}
	}
	if rep := s.server.Summary(); rep.Requests != 0 || rep.Count != 0 {
		t.Errorf("bad input was counted: %+v", rep)
	}
}

func TestWrongTokenIsRefusedUntilItIsRight(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Token: "one"})
	for _, header := range []string{"", "Bearer two", "one"} {
		if g := s.do("POST", "/tickets", ticketBody("e"), "Authorization", header); g.status != 401 {
			t.Errorf("%q: got %d", header, g.status)
		}
	}
	s.must(201, "POST", "/tickets", ticketBody("e2"), "Authorization", "Bearer one")
	s.must(204, "POST", "/credentials", `{"token":"two"}`)
	s.must(401, "POST", "/tickets", ticketBody("e2"), "Authorization", "Bearer one")
	s.must(401, "GET", "/tickets?external_id=e2", "", "Authorization", "Bearer one")
	s.must(201, "POST", "/tickets", ticketBody("e2"), "Authorization", "Bearer two")
	s.wantCount("e2", 2, 3)
	s.must(204, "POST", "/credentials", `{"token":""}`)
	s.must(201, "POST", "/tickets", ticketBody("e2"))
	s.must(400, "POST", "/credentials", `{"tokn":"x"}`)
	s.must(400, "POST", "/credentials", `{}`)
}

func TestIndexNamesEverySystemAndFault(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	page := s.must(200, "GET", "/", "")
	for _, name := range append(faultNames(), systems...) {
		if !strings.Contains(page.body, "  "+name+" ") {
			t.Errorf("the index does not tell of %s", name)
		}
	}
	if !strings.Contains(page.body, "curl -X DELETE "+s.http.URL+"/faults") || strings.Contains(page.body, "BASE") {
		t.Error("the curl lines do not name this server")
	}
	for _, heading := range []string{"SYSTEMS", "WHAT REALLY HAPPENED", "FAULTS", "CREDENTIALS"} {
		if !strings.Contains(page.body, "\n"+heading+"\n\n") {
			t.Errorf("the heading %s is gone", heading)
		}
	}
	if g := s.do("GET", "/nowhere", ""); g.status != http.StatusNotFound {
		t.Errorf("unknown path: %d", g.status)
	}
}
