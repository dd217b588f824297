package contract

import (
	"testing"

	"github.com/onceward/onceward"
)

const benchInput = `{"source":"stripe","event_id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","subject":"Payment of 12.50 failed","body":"The card was declined twice.","priority":"normal"}`

func BenchmarkPrepare(b *testing.B) {
	tool := loadSpec(b, ticketSpec)
	in := intent(benchInput)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tool.Prepare(in, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPrepareParts shows where Prepare spends its time.
func BenchmarkPrepareParts(b *testing.B) {
	tool := loadSpec(b, ticketSpec)
	p := mustPrepare(b, tool, benchInput)
	op := operationOf(tool, p)
	input, err := onceward.ParseJSON([]byte(benchInput))
	if err != nil {
		b.Fatal(err)
	}
	v, err := tool.operationVariables(op, true)
	if err != nil {
		b.Fatal(err)
	}
	for name, part := range map[string]func(){
		"parse":    func() { _, _ = onceward.ParseJSON([]byte(benchInput)) },
		"schema":   func() { _ = tool.schema.validate(input) },
		"key":      func() { _, _ = deriveKey(tool.key, v) },
		"aliases":  func() { _ = tool.aliases(p.Key, v) },
		"digest":   func() { _, _ = tool.digest(input, op.ID) },
		"render":   func() { _, _ = tool.request.render(v) },
		"approval": func() { _ = tool.needsApproval(v) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				part()
			}
		})
	}
}

func BenchmarkJudge(b *testing.B) {
	tool := loadSpec(b, writeHead+`  request: {method: POST, url: 'https://h.example.com/'}
  outcomes:
    - {when: 'response.status == 429', is: not_done, class: rate_limited}
    - {when: 'response.status == 201', is: done, reference: '${response.json.id}'}
`)
	ev := answerOf(201, `{"id":"t-1","title":"x"}`)
	op := &onceward.Operation{}
	b.ReportAllocs()
	for b.Loop() {
		if j := tool.Judge(op, ev); j.Reference != "t-1" {
			b.Fatal(j)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	doc := []byte(testHead + ticketSpec)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(doc, "f", testOptions()); err != nil {
			b.Fatal(err)
		}
	}
}
