package main

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestTheListNamesTheProgramItsModulesAndTheStandardLibrary(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "example.com/us", Version: "v1.0.0"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.2.3", Sum: "h1:abc="},
			{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0+x"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-ldflags", Value: "-X main.secret=1"}},
	}
	b := billOf(info, "us_linux", "", "00ff")
	var refs []string
	for _, c := range b.Components {
		refs = append(refs, c.Ref)
	}
	want := []string{"pkg:golang/example.com/a@v1.2.3", "pkg:golang/example.com/c@v2.0.0%2Bx", "pkg:golang/std@1.26.8"}
	if !slices.Equal(refs, want) || !slices.Equal(b.Depends[0].On, want) {
		t.Errorf("components %v", refs)
	}
	if p := b.Metadata.Component; p.Name != "example.com/us" || p.Version != "v1.0.0" || p.Hashes[0].Content != "00ff" || len(p.Properties) != 2 {
		t.Errorf("the program: %+v", p)
	}
}

func TestAProgramTellsWhatItIsMadeOf(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	b := billOf(info, filepath.Base(self), "1", "")
	if !strings.HasPrefix(b.Metadata.Component.Name, "github.com/onceward/onceward") || len(b.Components) == 0 {
		t.Errorf("%+v", b.Metadata)
	}
}
