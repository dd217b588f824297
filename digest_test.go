package onceward_test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestMaterialDigestIsStable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		extras []string
		want   string
	}{
		{nil, "b580f830557631afe1b1ae66d33c83b298fbde761be01d5e32967a9e99f21205"},
		{[]string{"?page=2"}, "715cd32fdcd789bfd7a23a5b8cf3a3f945ac684b2c31516bae7da3ae47b2eeb5"},
	}
	for _, tt := range tests {
		if got := onceward.MaterialDigest("payments.charge", []byte(`{"amount":100}`), tt.extras...).String(); got != tt.want {
			t.Errorf("digest with %q is %s, want %s", tt.extras, got, tt.want)
		}
	}
}

func TestWhateverIsMaterialChangesTheDigest(t *testing.T) {
	t.Parallel()
	digests := map[string]onceward.Digest{
		"plain":                    onceward.MaterialDigest("a.b", []byte(`{}`)),
		"other tool":               onceward.MaterialDigest("a.c", []byte(`{}`)),
		"other input":              onceward.MaterialDigest("a.b", []byte(`[]`)),
		"query":                    onceward.MaterialDigest("a.b", []byte(`{}`), "q=1"),
		"other query":              onceward.MaterialDigest("a.b", []byte(`{}`), "q=2"),
		"empty query":              onceward.MaterialDigest("a.b", []byte(`{}`), ""),
		"query and path":           onceward.MaterialDigest("a.b", []byte(`{}`), "q=1", "id"),
		"path and query":           onceward.MaterialDigest("a.b", []byte(`{}`), "id", "q=1"),
		"query that runs on":       onceward.MaterialDigest("a.b", []byte(`{}`), "q=1id"),
		"input in the tool's name": onceward.MaterialDigest("a.b{}", nil),
		"extra in the input":       onceward.MaterialDigest("a.b", []byte("{}\x03q=1")),
	}
	seen := make(map[onceward.Digest]string)
	for name, digest := range digests {
		if other, taken := seen[digest]; taken {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[digest] = name
	}
}

func TestDigestIsReadBackAsWritten(t *testing.T) {
	t.Parallel()
	digest := onceward.MaterialDigest("a.b", []byte(`{}`))
	text := digest.String()
	if got, err := onceward.ParseDigest(text); err != nil || got != digest {
		t.Errorf("%s is read as %s, %v", digest, got, err)
	}
	for _, s := range []string{"", text[:63], text + "0", strings.ToUpper(text), text[:63] + "g", " " + text[:63]} {
		if got, err := onceward.ParseDigest(s); !onceward.Is(err, onceward.CodeInvalidRequest) || !got.IsZero() {
			t.Errorf("ParseDigest(%q) = %s, %v", s, got, err)
		}
	}
}

func BenchmarkMaterialDigest(b *testing.B) {
	material := benchmarkText(200)
	b.ReportAllocs()
	for b.Loop() {
		onceward.MaterialDigest("payments.charge", material)
	}
}
