package onceward_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"pgregory.net/rapid"
)

// The values in the tests of identities, digests and keys were computed by
// another program. They may never change: stored rows and the memory of
// providers depend on them.

const knownOperationID = "op_s9l2964mbhgnkr8hq19o5f32mo"

var knownIdentity = onceward.Identity{Tenant: "acme", Tool: "tickets.create", Key: `["shop","evt-1"]`}

func TestOperationIDIsTheDigestOfItsIdentity(t *testing.T) {
	t.Parallel()
	if got := knownIdentity.OperationID().String(); got != knownOperationID {
		t.Errorf("ID of %v is %s, want %s", knownIdentity, got, knownOperationID)
	}
}

func TestTenantsToolsAndKeysNeverShareAnOperation(t *testing.T) {
	t.Parallel()
	identities := []onceward.Identity{
		{Tenant: "a", Tool: "b", Key: "c"},
		{Tenant: "b", Tool: "b", Key: "c"},
		{Tenant: "a", Tool: "c", Key: "c"},
		{Tenant: "a", Tool: "b", Key: "C"},
		{Tenant: "ab", Tool: "", Key: "c"},
		{Tenant: "", Tool: "ab", Key: "c"},
		{Tenant: "a", Tool: "", Key: "bc"},
		{Tenant: `a","b`, Tool: "c", Key: ""},
		{Tenant: "a", Tool: `b","c`, Key: ""},
		{Tenant: "a", Tool: "b", Key: "\xff"},
		{Tenant: "a", Tool: "b", Key: "\ufffd"},
	}
	seen := make(map[onceward.OperationID]onceward.Identity)
	for _, identity := range identities {
		id := identity.OperationID()
		if other, taken := seen[id]; taken {
			t.Errorf("%q and %q are one operation", identity, other)
		}
		if id.IsZero() {
			t.Errorf("%q has no ID", identity)
		}
		seen[id] = identity
	}
}

func TestIDsAreReadBackAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var id onceward.OperationID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), len(id), len(id)).Draw(t, "id"))
		if got, err := onceward.ParseOperationID(id.String()); err != nil || got != id {
			t.Fatalf("%s is read as %s, %v", id, got, err)
		}
		attempt := onceward.AttemptID{Operation: id, Number: rapid.IntRange(1, math.MaxInt32).Draw(t, "number")}
		if got, err := onceward.ParseAttemptID(attempt.String()); err != nil || got != attempt {
			t.Fatalf("%s is read as %s, %v", attempt, got, err)
		}
	})
}

func TestOneIDHasOneSpelling(t *testing.T) {
	t.Parallel()
	operations := []string{
		"", "op_", knownOperationID[:28], knownOperationID + "0", strings.ToUpper(knownOperationID), "OP_" + knownOperationID[3:],
		knownOperationID[3:], " " + knownOperationID, knownOperationID + "\n", knownOperationID[:28] + "\n", knownOperationID[:28] + "p",
		"op_" + strings.Repeat("w", 26), "op_" + strings.Repeat("\n", 26), "op_" + strings.Repeat("é", 13),
	}
	for _, s := range operations {
		if id, err := onceward.ParseOperationID(s); !onceward.Is(err, onceward.CodeInvalidRequest) || !id.IsZero() {
			t.Errorf("ParseOperationID(%q) = %s, %v", s, id, err)
		}
	}
	numbers := []string{"", ".", ".0", ".01", ".-1", ".+1", ".1.1", ".1 ", ".2147483648", ".99999999999999999999", ".x", "1"}
	for _, s := range numbers {
		if id, err := onceward.ParseAttemptID(knownOperationID + s); !onceward.Is(err, onceward.CodeInvalidRequest) || !id.IsZero() {
			t.Errorf("ParseAttemptID(%q) = %s, %v", knownOperationID+s, id, err)
		}
	}
}

func TestIDsAndDigestsAreTextInJSON(t *testing.T) {
	t.Parallel()
	type record struct {
		Operation onceward.OperationID
		Attempt   onceward.AttemptID
		Digest    onceward.Digest
	}
	id := knownIdentity.OperationID()
	in := record{id, onceward.AttemptID{Operation: id, Number: 3}, onceward.Digest{0: 0xab, 31: 1}}
	text, err := json.Marshal(in)
	want := `{"Operation":"` + knownOperationID + `","Attempt":"` + knownOperationID + `.3","Digest":"ab` + strings.Repeat("0", 60) + `01"}`
	if err != nil || string(text) != want {
		t.Errorf("written as %s, %v; want %s", text, err, want)
	}
	var out record
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("read back as %v, %v", out, err)
	}
	for _, broken := range []string{`{"Operation":"op_1"}`, `{"Attempt":"1.1"}`, `{"Digest":"ab"}`} {
		if err := json.Unmarshal([]byte(broken), &out); !onceward.Is(err, onceward.CodeInvalidRequest) {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

func TestNamesOfTenantsAndTools(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 128)
	tests := []struct {
		name         string
		tenant, tool bool
	}{
		{"acme", true, true},
		{"a", true, true},
		{long, true, true},
		{long + "a", false, false},
		{"", false, false},
		{"tickets.create", true, true},
		{"tickets.create-2.v_1", true, true},
		{"crm.2.x", true, true},
		{"Acme", true, false},
		{"9lives", true, false},
		{"org:42@eu", true, false},
		{"tickets..create", true, false},
		{"tickets.", true, false},
		{".tickets", false, false},
		{"_a", false, false},
		{"-a", false, false},
		{"a b", false, false},
		{"a/b", false, false},
		{"a\n", false, false},
		{"a\x00", false, false},
		{"é", false, false},
		{"a.É", false, false},
	}
	for _, tt := range tests {
		tenant, err := onceward.ParseTenant(tt.name)
		if ok := err == nil; ok != tt.tenant || ok && string(tenant) != tt.name || !ok && !onceward.Is(err, onceward.CodeInvalidRequest) {
			t.Errorf("ParseTenant(%q) = %q, %v", tt.name, tenant, err)
		}
		tool, err := onceward.ParseToolName(tt.name)
		if ok := err == nil; ok != tt.tool || ok && string(tool) != tt.name || !ok && !onceward.Is(err, onceward.CodeInvalidRequest) {
			t.Errorf("ParseToolName(%q) = %q, %v", tt.name, tool, err)
		}
	}
}

func BenchmarkNewOperationID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = knownIdentity.OperationID()
	}
}
