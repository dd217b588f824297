package contract

import (
	"testing"

	"github.com/onceward/onceward"
)

func TestSourceIsComparedByWhatTheInputBrought(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, "  effect: probed_write\n  key: [input.id]\n"+lintRequest+lintProbe+
		"  source: {request: {url: 'https://h.example.com/orders/${input.id}'}, value: '${{\"s\": response.json.status}}', was: '${{\"s\": input.status}}'}\n")
	op := &onceward.Operation{Tenant: "default", Tool: tool.Info().Name, Key: "k", Input: []byte(`{"id":"7","status":"open"}`)}
	then, err := tool.SourceThen(op)
	if err != nil || string(then) != `{"s":"open"}` {
		t.Fatalf("then %s, %v", then, err)
	}
	now, err := tool.SourceValue(op, &onceward.Evidence{Status: 200, Body: []byte(`{"status":"closed","noise":1}`)})
	if err != nil || string(now) != `{"s":"closed"}` {
		t.Fatalf("now %s, %v", now, err)
	}
	if _, err := tool.SourceValue(op, &onceward.Evidence{Status: 404}); err == nil {
		t.Fatal("an answer that is none is taken")
	}
	bare := loadSpec(t, "  effect: probed_write\n  key: [input.id]\n"+lintRequest+lintProbe)
	if then, err := bare.SourceThen(op); then != nil || err != nil {
		t.Fatalf("without source: %s, %v", then, err)
	}
}
