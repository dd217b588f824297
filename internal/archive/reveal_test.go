package archive

import (
	"context"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// opener gives every operation back its input, but for those of a subject that was
// shredded.
type opener struct{ onceward.Sealer }

func (opener) Reveal(_ context.Context, ops ...*onceward.Operation) error {
	for _, op := range ops {
		op.Input, op.Shredded = []byte(`{"a":1}`), op.Subject == "sub_gone"
	}
	return nil
}

func TestExportIsRevealedAsFarAsItsKeysAreThere(t *testing.T) {
	t.Parallel()
	id := exported("a").Operation.ID.String()
	sealed := func(subject string) string {
		return `{"operation":"` + id + `","tenant":"acme","subject_id":"` + subject + `","sealed":"AQI=","later":7}` + "\n"
	}
	const plain = `{"operation":"x","input":{"text":"1"}}` + "\n"
	var out strings.Builder
	if err := Reveal(t.Context(), opener{}, strings.NewReader(plain+sealed("sub_a")+sealed("sub_gone")+`{"operation":"cut`), &out); err != nil {
		t.Fatal(err)
	}
	want := plain +
		`{"later":7,"opened":{"input":{"text":"{\"a\":1}"}},"operation":"` + id + `","subject_id":"sub_a","tenant":"acme"}` + "\n" +
		`{"later":7,"operation":"` + id + `","shredded":true,"subject_id":"sub_gone","tenant":"acme"}` + "\n"
	if out.String() != want {
		t.Errorf("it is revealed as\n%s, want\n%s", out.String(), want)
	}
	if err := Reveal(t.Context(), opener{}, strings.NewReader("{}}\n"), &out); !onceward.Is(err, onceward.CodeInvalidRequest) {
		t.Errorf("what is no export gives %v", err)
	}
}
