package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePageIsWhatTheTableSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/state-machine.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), Page()); diff != "" {
		t.Errorf("docs/state-machine.md is not what transitions.go says; run make generate:\n%s", diff)
	}
}
