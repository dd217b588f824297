package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheCommandReferenceIsWhatTheCommandsSay(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), referencePage(newRoot())); diff != "" {
		t.Errorf("docs/reference/cli.md is not what the commands say; run make generate:\n%s", diff)
	}
}
