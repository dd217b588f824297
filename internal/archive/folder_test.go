package archive

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func exported(key onceward.Key) onceward.Exported {
	op := &onceward.Operation{Tenant: "acme", Tool: "t.write", Key: key, Version: 2, State: onceward.StateSucceeded, Effect: onceward.EffectUnsafeWrite,
		Input: []byte(`{"a":1}`), Result: &onceward.Result{Status: 201, Body: []byte{0xff, 0}, BodyKept: true}}
	op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
	return onceward.Exported{Operation: op, Records: []onceward.Record{{Version: 2, Event: "commented", From: op.State, To: op.State, Reason: "seen"}}}
}

func lines(t *testing.T, dir string) (all []line, files int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(string(text)) {
			var one line
			if err := json.Unmarshal([]byte(l), &one); err != nil {
				t.Fatalf("%s: %v", l, err)
			}
			all = append(all, one)
		}
	}
	return all, len(names)
}

func TestEachProcessWritesWholeLinesToAFileOfItsOwnADay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "exports")
	for range 2 { // the second after a crash: it gives the same again
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		f.now = func() time.Time { return time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC) }
		if err := f.Export(t.Context(), []onceward.Exported{exported("a"), exported("b")}); err != nil {
			t.Fatal(err)
		}
		f.now = func() time.Time { return time.Date(2026, 12, 1, 0, 1, 0, 0, time.UTC) }
		if err := f.Export(t.Context(), []onceward.Exported{exported("c")}); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	all, files := lines(t, dir)
	if len(all) != 6 || files != 4 {
		t.Fatalf("%d lines in %d files", len(all), files)
	}
	if l := all[0]; l.Kind != "record" || l.Key != "a" || *l.Input.Text != `{"a":1}` || string(l.Result.Body.Base64) != "\xff\x00" || l.Events[0].Reason != "seen" || l.Version != 2 || l.Digest == "" {
		t.Fatalf("the line is %+v", l)
	}
}

func TestWhatIsKeptEncryptedIsExportedEncrypted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	x := exported("a")
	x.Operation.Subject, x.Operation.Sealed, x.Records[0].Sealed = "sub_a", []byte{1, 2}, []byte{1, 3}
	if err := f.Export(t.Context(), []onceward.Exported{x}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	all, _ := lines(t, dir)
	if l := all[0]; l.Input != nil || l.Result != nil || l.Digest != "" || l.Events[0].Reason != "" || string(l.Sealed) != "\x01\x02" || string(l.Events[0].Sealed) != "\x01\x03" || l.SubjectID != "sub_a" {
		t.Fatalf("the line is %+v", l)
	}
}

func TestAFolderThatCannotBeWrittenToIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "exports")); onceward.CodeOf(err) != onceward.CodeConfigInvalid {
		t.Fatalf("it gives %v", err)
	}
}
