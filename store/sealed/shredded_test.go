package sealed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestListOfShreddedKeysForgivesWhatACrashCutOffAndNothingElse(t *testing.T) {
	t.Parallel()
	id := onceward.DataKeyID{1}
	for name, c := range map[string]struct {
		text  string
		keys  int
		wrong bool
	}{
		"Whole":       {id.String() + "\n", 1, false},
		"CutOff":      {id.String() + "\n" + id.String()[:20] + "\n" + id.String() + "\n", 2, false},
		"CutAtOnce":   {"d", 0, false},
		"AnotherFile": {"root:x:0:0:root:/root:/bin/bash\n", 0, true},
		"Damaged":     {strings.Replace(id.String(), "01", "zz", 1) + "\n", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := &shreddedList{path: filepath.Join(t.TempDir(), "shredded")}
			if err := os.WriteFile(list.path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			ids, err := list.read()
			if len(ids) != c.keys || onceward.Is(err, onceward.CodeConfigInvalid) != c.wrong {
				t.Errorf("read %d keys, %v", len(ids), err)
			}
		})
	}
}
