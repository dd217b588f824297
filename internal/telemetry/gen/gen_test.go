package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestGeneratedFilesAreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	for path, want := range generated() {
		got, err := os.ReadFile(filepath.Join("..", path))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the table says (%v): run make generate", path, err)
		}
	}
}
