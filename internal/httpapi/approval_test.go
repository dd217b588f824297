package httpapi

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// question submits what needs a yes, and reads what is asked.
func (w *world) question(input string) (id string, showing *reply) {
	w.Helper()
	id = w.submit(asked, input, `"wait":"0s"`).want(202, "operation.approval.state", "pending", "operation.approval.needed", true, "operation.approval.quorum", 1.0).text("operation.id")
	return id, w.get("/v1/operations/" + id + "/approval").want(200)
}

func answerTo(showing *reply, more string) string {
	return fmt.Sprintf(`{"digest":%q,"contract_version":%q%s}`, showing.text("digest"), showing.text("contract_version"), more)
}

func TestQuestionIsListedShownAndAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, showing := w.question(`{"id":"p1","amount":500}`)
	w.get("/v1/approvals?for=me").want(200, "approvals.0.id", id, "approvals.0.approval.state", "pending")
	showing.want(200, "showing.tool", asked, "showing.input.amount", 500.0, "showing.requested_by", "local:operator")
	showing.lacks("refused", "changed")
	answer := w.post("/v1/operations/"+id+"/approve", answerTo(showing, `,"reason":"as agreed"`)).want(202, "operation.approval.state", "granted", "operation.approval.yeses.0.actor", "local:operator")
	_ = answer
	w.pass(time.Second)
	w.get("/v1/operations/"+id).want(200, "operation.state", "succeeded", "operation.approval.state", "spent")
	w.get("/v1/approvals").want(200).lacks("approvals.0")
	kept := w.get("/v1/documents/" + showing.text("shown"))
	if kept.status != 200 || !strings.Contains(kept.raw, `"amount":500`) {
		t.Fatalf("what was shown is kept as %d %s", kept.status, kept.raw)
	}
	w.post("/v1/operations/"+id+"/reject", fmt.Sprintf(`{"digest":%q,"reason":"too late"}`, showing.text("digest"))).
		want(409, "code", "state_forbids")
}

func TestWhatIsNoExactAnswerIsNoApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, showing := w.question(`{"id":"p1"}`)
	digest, version := showing.text("digest"), showing.text("contract_version")
	for _, body := range []string{`"true"`, `true`, `{}`, `null`, `[]`, `ok but after Friday`, `"ok but after Friday"`, ``, `{"approved":true}`,
		`{"digest":` + `"` + digest + `"}`, `{"contract_version":"` + version + `"}`, `{"digest":true,"contract_version":"` + version + `"}`,
		`{"digest":"true","contract_version":"` + version + `"}`, `{"digest":"` + strings.ToUpper(digest) + `","contract_version":"` + version + `"}`,
		`{"digest":"` + digest + `","contract_version":null}`, `{"digest":"` + digest + `","contract_version":""}`,
		`{"digest":"` + digest + `","contract_version":"` + version + `","but":"after Friday"}`,
		`{"digest":"` + digest + `","contract_version":"` + version + `","edit":{}}`, `{"digest":"` + digest + `","contract_version":"` + version + `","edit":"x"}`} {
		if r := w.post("/v1/operations/"+id+"/approve", body); r.status != 400 && !(strings.Contains(body, "ABCDEF") && r.status == 200) {
			t.Errorf("%s: status %d, want 400", body, r.status)
		}
	}
	w.post("/v1/operations/"+id+"/approve", strings.Replace(answerTo(showing, ""), digest[:4], "0000", 1)).want(409, "code", "state_forbids")
	w.pass(time.Second)
	w.get("/v1/operations/"+id).want(200, "operation.state", "awaiting_approval")
}

func TestEditedInputIsSentAndAnswersTheOriginal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, showing := w.question(`{"id":"p1","amount":500}`)
	w.post("/v1/operations/"+id+"/approve", answerTo(showing, `,"edit":{"input":{"id":"p2","amount":50}}`)).want(409, "code", "state_forbids")
	w.post("/v1/operations/"+id+"/approve", answerTo(showing, `,"edit":{"input":{"id":"p1","amount":50}}`)).
		want(202, "operation.approval.superseded_digests.0", showing.text("digest"), "operation.approval.edited_by", "local:operator")
	w.pass(time.Second)
	w.submit(asked, `{"id":"p1","amount":500}`).want(200, "decision", "replayed")
	w.submit(asked, `{"id":"p1","amount":5}`).want(422, "code", "key_reused")
	if n := w.provider.Writes(); n != 1 {
		t.Fatalf("%d writes", n)
	}
}

func TestRejectionNeedsAReasonAndEndsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, showing := w.question(`{"id":"p1"}`)
	digest := showing.text("digest")
	w.post("/v1/operations/"+id+"/reject", `{"digest":"`+digest+`"}`).want(400, "code", "invalid_request")
	w.post("/v1/operations/"+id+"/reject", `{"digest":"`+digest+`","reason":"  "}`).want(400, "code", "evidence_required")
	w.post("/v1/operations/"+id+"/reject", `{"digest":"`+digest+`","reason":"too dear"}`).want(200, "operation.state", "cancelled", "operation.approval.state", "rejected")
	w.post("/v1/operations/"+id+"/approve", answerTo(showing, "")).want(409, "code", "state_forbids")
}

func TestQuestionIsHandedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, _ := w.question(`{"id":"p1"}`)
	w.post("/v1/operations/"+id+"/assign", `{"to":"oidc:bob","due":"tomorrow","reason":"r"}`).want(400, "code", "invalid_request")
	w.post("/v1/operations/"+id+"/assign", `{"to":"oidc:bob","due":"2026-01-03T00:00:00Z","reason":"on holiday"}`).
		want(202, "operation.approval.assigned.to", "oidc:bob", "operation.approval.assigned.due", "2026-01-03T00:00:00Z")
	w.get("/v1/approvals?for=named").want(200).lacks("approvals.0")
	w.get("/v1/approvals?for=everybody").want(400, "code", "invalid_request")
}

func TestYesBeforeItsOperationIsKept(t *testing.T) {
	t.Parallel()
	other := newWorld(t)
	id, showing := other.question(`{"id":"p1"}`)
	w := newWorld(t)
	w.post("/v1/operations/"+id+"/approve", answerTo(showing, "")).want(404, "code", "operation_not_found")
	w.post("/v1/operations/"+id+"/approve", answerTo(showing, `,"tool":"`+asked+`"`)).want(202, "early", true, "operation_id", id)
	w.submit(asked, `{"id":"p1"}`, `"wait":"0s"`).want(202, "operation.approval.state", "granted")
	w.pass(time.Second)
	w.get("/v1/operations/"+id).want(200, "operation.state", "succeeded")
}

func TestDocumentIsKeptAndNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sum := w.post("/v1/documents", `{"invoice":17}`).want(201, "media_type", "application/json", "size", 14.0).text("sha256")
	if r := w.get("/v1/documents/" + sum); r.status != 200 || r.raw != `{"invoice":17}` {
		t.Fatalf("status %d, %s", r.status, r.raw)
	}
	w.post("/v1/documents", "").want(400, "code", "invalid_request")
	named := `"documents":[{"sha256":"` + sum + `","name":"invoice.json"}],"wait":"0s"`
	id := w.submit(asked, `{"id":"p1"}`, named).want(202, "operation.documents.0.name", "invoice.json").text("operation.id")
	w.get("/v1/operations/"+id+"/approval").want(200, "showing.documents.0.sha256", sum)
	w.submit(asked, `{"id":"p1"}`, `"wait":"0s"`).want(422, "code", "key_reused")
	w.submit(asked, `{"id":"p2"}`, `"documents":[{"sha256":"x","name":"n"}]`).want(400, "code", "invalid_request")
	w.submit(asked, `{"id":"p2"}`, `"documents":[{"sha256":"`+strings.Repeat("a", 64)+`","name":"n"}]`).want(404, "code", "document_not_found")
}
