package onceward_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"pgregory.net/rapid"
)

func providerKey(t fataler, id onceward.Identity, generation onceward.Generation, shape onceward.KeyShape) string {
	t.Helper()
	key, err := onceward.ProviderKey(id, generation, shape)
	if err != nil {
		t.Fatalf("ProviderKey(%q, %d, %+v): %v", id, generation, shape, err)
	}
	return key
}

func TestProviderKeyIsShapedByRule(t *testing.T) {
	t.Parallel()
	const hash = "5lkj2758ifth6j50h30vma1f5s"
	longKey := "order-" + strings.Repeat("9", 300)
	named := func(key string) onceward.Identity {
		return onceward.Identity{Tenant: "acme", Tool: "tickets.create", Key: onceward.Key(key)}
	}
	tests := []struct {
		name       string
		id         onceward.Identity
		generation onceward.Generation
		shape      onceward.KeyShape
		want       string // a regular expression of the whole key
	}{
		{"hex", knownIdentity, 0, onceward.KeyShape{}, `2d69311ca893fb134ca088c1fb282f2f`},
		{"hex, cut", knownIdentity, 0, onceward.KeyShape{Max: 20}, `2d69311ca893fb134ca0`},
		{"hex, room to spare", knownIdentity, 0, onceward.KeyShape{Max: 200}, `2d69311ca893fb134ca088c1fb282f2f`},
		{"hex, used anew", knownIdentity, 1, onceward.KeyShape{}, `059623ba2c830e004c0c36b740218c19`},
		{"base32hex", knownIdentity, 0, onceward.KeyShape{Format: onceward.KeyBase32Hex}, hash},
		{"base32hex, cut", knownIdentity, 0, onceward.KeyShape{Format: onceward.KeyBase32Hex, Max: 16}, hash[:16]},
		{"uuid4", knownIdentity, 0, onceward.KeyShape{Format: onceward.KeyUUID4, Max: 36}, `2d69311c-a893-4b13-8ca0-88c1fb282f2f`},
		{"raw", knownIdentity, 0, onceward.KeyShape{Format: onceward.KeyRaw}, `shop-evt-1\.` + hash},
		{"raw, cut", knownIdentity, 0, onceward.KeyShape{Format: onceward.KeyRaw, Max: 32}, `shop\.` + hash},
		{"raw, room for one character", knownIdentity, 0, onceward.KeyShape{Format: onceward.KeyRaw, Max: 28}, `s\.` + hash},
		{"raw, no room", knownIdentity, 0, onceward.KeyShape{Format: onceward.KeyRaw, Max: 27}, hash},
		{"raw, cut to the least", knownIdentity, 0, onceward.KeyShape{Format: onceward.KeyRaw, Max: 16}, hash[:16]},
		{"raw, nothing readable", named("é…"), 0, onceward.KeyShape{Format: onceward.KeyRaw}, `key\.[0-9a-v]{26}`},
		{"raw, long", named(longKey), 0, onceward.KeyShape{Format: onceward.KeyRaw}, `order-9{222}\.[0-9a-v]{26}`},
		{"exclusive", named("order-1"), 0, onceward.KeyShape{Format: onceward.KeyRaw, Exclusive: true}, `order-1`},
		{"exclusive, just fits", named("order-1234567890"), 0, onceward.KeyShape{Format: onceward.KeyRaw, Max: 16, Exclusive: true}, `order-1234567890`},
		{"exclusive, derived key", knownIdentity, 0, onceward.KeyShape{Format: onceward.KeyRaw, Exclusive: true}, `\["shop","evt-1"\]`},
		{"exclusive, used anew", named("order-1"), 1, onceward.KeyShape{Format: onceward.KeyRaw, Exclusive: true}, `order-1\.[0-9a-v]{26}`},
		{"exclusive, long", named(longKey), 0, onceward.KeyShape{Format: onceward.KeyRaw, Exclusive: true}, `order-9{222}\.[0-9a-v]{26}`},
		{"exclusive, other alphabet", named("órder 1"), 0, onceward.KeyShape{Format: onceward.KeyRaw, Exclusive: true}, `rder-1\.[0-9a-v]{26}`},
		{"exclusive, like another's hash", named("x." + hash), 0, onceward.KeyShape{Format: onceward.KeyRaw, Exclusive: true}, `x\.` + hash + `\.[0-9a-v]{26}`},
		{"exclusive, like a bare hash", named(hash[:16]), 0, onceward.KeyShape{Format: onceward.KeyRaw, Max: 16, Exclusive: true}, `[0-9a-v]{16}`},
		{"exclusive, a name as long as a hash", named(hash), 0, onceward.KeyShape{Format: onceward.KeyRaw, Exclusive: true}, hash},
		{"exclusive means nothing for a hash", knownIdentity, 0, onceward.KeyShape{Exclusive: true}, `2d69311ca893fb134ca088c1fb282f2f`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := providerKey(t, tt.id, tt.generation, tt.shape)
			if !regexp.MustCompile("^(?:" + tt.want + ")$").MatchString(got) {
				t.Errorf("provider key is %q, want %s", got, tt.want)
			}
		})
	}
	like := named(hash[:16])
	if got := providerKey(t, like, 0, onceward.KeyShape{Format: onceward.KeyRaw, Max: 16, Exclusive: true}); got == hash[:16] {
		t.Error("a raw key can be made to look like the hash of another")
	}
}

func TestProviderKeyTooShortToBeUniqueIsRefused(t *testing.T) {
	t.Parallel()
	shapes := []onceward.KeyShape{
		{Format: onceward.KeyHex, Max: 19},
		{Format: onceward.KeyBase32Hex, Max: 15},
		{Format: onceward.KeyUUID4, Max: 35},
		{Format: onceward.KeyRaw, Max: 15},
		{Format: onceward.KeyRaw, Max: 15, Exclusive: true},
		{Format: onceward.KeyHex, Max: -1},
		{Format: onceward.KeyHex, Max: onceward.ProviderKeyBytesMax + 1},
		{Format: 99},
	}
	for _, shape := range shapes {
		if key, err := onceward.ProviderKey(knownIdentity, 0, shape); !onceward.Is(err, onceward.CodeContractInvalid) || key != "" {
			t.Errorf("ProviderKey with %+v = %q, %v", shape, key, err)
		}
	}
}

func TestProviderKeysOfTwoIntentionsNeverMeet(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 250)
	identity := rapid.Custom(func(t *rapid.T) onceward.Identity {
		return onceward.Identity{
			Tenant: rapid.SampledFrom([]onceward.Tenant{"a", "b"}).Draw(t, "tenant"),
			Tool:   rapid.SampledFrom([]onceward.ToolName{"t", "u"}).Draw(t, "tool"),
			Key:    rapid.SampledFrom([]onceward.Key{"k", "k-", "k ", "K", "é", "ü", onceward.Key(long + "1"), onceward.Key(long + "2")}).Draw(t, "key"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		shape := onceward.KeyShape{
			Format: rapid.SampledFrom([]onceward.KeyFormat{onceward.KeyHex, onceward.KeyBase32Hex, onceward.KeyUUID4, onceward.KeyRaw}).Draw(t, "format"),
			Max:    rapid.SampledFrom([]int{0, 36, 40, 255}).Draw(t, "max"),
		}
		a, b := identity.Draw(t, "a"), identity.Draw(t, "b")
		if shape.Format == onceward.KeyRaw && rapid.Bool().Draw(t, "exclusive") {
			shape.Exclusive = true
			b.Tenant, b.Tool = a.Tenant, a.Tool // nobody else is there
		}
		genA, genB := rapid.Uint32Range(0, 2).Draw(t, "genA"), rapid.Uint32Range(0, 2).Draw(t, "genB")
		x := providerKey(t, a, onceward.Generation(genA), shape)
		y := providerKey(t, b, onceward.Generation(genB), shape)
		if same := a == b && genA == genB; (x == y) != same {
			t.Fatalf("%q/%d and %q/%d: %s and %s", a, genA, b, genB, x, y)
		}
		if limit := shape.Max; len(x) > limit && limit > 0 {
			t.Fatalf("%s is longer than %d", x, limit)
		}
		if shape.Format == onceward.KeyRaw && !shape.Exclusive && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*\.[0-9a-v]{26}$`).MatchString(x) {
			t.Fatalf("%q could not stand in a URL", x)
		}
	})
}

func TestKeyFormatIsReadBackAsWritten(t *testing.T) {
	t.Parallel()
	for _, format := range []onceward.KeyFormat{onceward.KeyHex, onceward.KeyBase32Hex, onceward.KeyUUID4, onceward.KeyRaw} {
		if got, err := onceward.ParseKeyFormat(format.String()); err != nil || got != format {
			t.Errorf("%s is read as %s, %v", format, got, err)
		}
	}
	if got, err := onceward.ParseKeyFormat(""); err != nil || got != onceward.KeyHex {
		t.Errorf("no format is %s, %v", got, err)
	}
	for _, s := range []string{"HEX", "uuid", "base64", "key format 99"} {
		if got, err := onceward.ParseKeyFormat(s); !onceward.Is(err, onceward.CodeContractInvalid) {
			t.Errorf("ParseKeyFormat(%q) = %s, %v", s, got, err)
		}
	}
}
