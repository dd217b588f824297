package sealed

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/memory"
)

func anOperation() *onceward.Operation {
	op := &onceward.Operation{Tenant: "acme", Tool: "t.write", Key: "k", Generation: 3}
	op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
	return op
}

func TestAnEnvelopeOpensForItsPurposeAloneAndOnlyUnaltered(t *testing.T) {
	t.Parallel()
	key, id := bytes.Repeat([]byte{7}, masterBytes), onceward.DataKeyID{1}
	sealed, err := seal(id, key, "row a", []byte("secret"))
	if err != nil || bytes.Contains(sealed, []byte("secret")) {
		t.Fatalf("sealed to %q, %v", sealed, err)
	}
	if got, ok := keyOf(sealed); !ok || got != id {
		t.Fatalf("it names key %s", got)
	}
	if plain, ok := open(key, "row a", sealed); !ok || string(plain) != "secret" {
		t.Fatalf("it opens to %q", plain)
	}
	if _, ok := open(key, "row b", sealed); ok {
		t.Fatal("it opens for another row")
	}
	for i := envelopeHead; i < len(sealed); i++ {
		altered := bytes.Clone(sealed)
		altered[i] ^= 1
		if _, ok := open(key, "row a", altered); ok {
			t.Fatalf("it opens with byte %d altered", i)
		}
	}
	again, err := seal(id, key, "row a", []byte("secret"))
	if err != nil || bytes.Equal(again, sealed) {
		t.Fatal("the same is sealed the same way twice")
	}
}

func TestADigestIsHiddenAndShownAgain(t *testing.T) {
	t.Parallel()
	key, op := bytes.Repeat([]byte{7}, masterBytes), anOperation()
	for _, d := range []onceward.Digest{{}, {1, 2, 3}, {31: 9}} {
		hidden := hideDigest(key, rowPurpose(op), d)
		if hidden == d || showDigest(key, rowPurpose(op), hidden) != d {
			t.Fatalf("%s is hidden as %s", d, hidden)
		}
		other := *op
		other.Generation++
		if hideDigest(key, rowPurpose(&other), d) == hidden || hideDigest(bytes.Repeat([]byte{8}, masterBytes), rowPurpose(op), d) == hidden {
			t.Fatal("another use, or another key, hides it the same way")
		}
	}
}

func TestAKeyFileIsReadOrRefusedWithoutSayingWhatIsInIt(t *testing.T) {
	t.Parallel()
	a, b := NewMasterKey(), NewMasterKey()
	ring, err := ParseKeyRing("# newest first\n" + a + "  # 2026\n\n" + b + "\n")
	if err != nil || len(ring.Names()) != 2 || ring.Names()[0] == ring.Names()[1] {
		t.Fatalf("it reads %v, %v", ring.Names(), err)
	}
	for _, text := range []string{"", "# none\n", a + "\n" + a, a[:40], "password"} {
		_, err := ParseKeyRing(text)
		if onceward.CodeOf(err) != onceward.CodeConfigInvalid || text != "" && strings.Contains(err.Error(), strings.TrimSpace(text)) {
			t.Fatalf("%q gives %v", text, err)
		}
	}
}

func TestADataKeyUnwrapsForItsSubjectAlone(t *testing.T) {
	t.Parallel()
	ring, err := ParseKeyRing(NewMasterKey())
	if err != nil {
		t.Fatal(err)
	}
	k := onceward.DataKey{ID: onceward.DataKeyID{1}, Tenant: "acme", Subject: "sub_a"}
	if err := ring.wrap(&k, bytes.Repeat([]byte{7}, masterBytes)); err != nil {
		t.Fatal(err)
	}
	if key, err := ring.unwrap(&k); err != nil || key[0] != 7 {
		t.Fatal(err)
	}
	k.Subject = "sub_b"
	if _, err := ring.unwrap(&k); onceward.CodeOf(err) != onceward.CodeLedgerCorrupt {
		t.Fatalf("it unwraps for another subject: %v", err)
	}
}

// TestTwoProcessesAgreeOnADataKey: whoever is second takes the first one's.
func TestTwoProcessesAgreeOnADataKey(t *testing.T) {
	t.Parallel()
	ring, err := ParseKeyRing(NewMasterKey())
	if err != nil {
		t.Fatal(err)
	}
	first := memory.New(memory.Options{})
	var ids []onceward.DataKeyID
	for _, handle := range []onceward.Store{first, first.Again()} {
		s, err := Open(t.Context(), handle, Options{Keys: ring})
		if err != nil {
			t.Fatal(err)
		}
		op := anOperation()
		if err := s.Assign(context.Background(), op, "ann"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(op.Subject), "ann") || op.Blind == "" {
			t.Fatalf("the subject is called %s", op.Subject)
		}
		ids = append(ids, op.DataKey)
	}
	if ids[0] != ids[1] {
		t.Fatal("the subject has two data keys in use")
	}
}
