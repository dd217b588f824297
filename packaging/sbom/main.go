// Command sbom prints what a Go program consists of, as the linker wrote it into
// the program itself, in CycloneDX 1.5. Equal programs give equal lists: it has
// no time and no serial number.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

func main() {
	version := flag.String("version", "", "the program's version; empty: what the linker knows")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: sbom [-version V] PROGRAM")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *version); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(path, version string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(billOf(info, filepath.Base(path), version, hex.EncodeToString(sum[:])))
}

// bill is a CycloneDX document, as far as it is used here.
type bill struct {
	Format      string       `json:"bomFormat"`
	SpecVersion string       `json:"specVersion"`
	Version     int          `json:"version"`
	Metadata    metadata     `json:"metadata"`
	Components  []component  `json:"components"`
	Depends     []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// billOf lists a program's modules in the linker's order, which is by path, and
// the standard library behind them.
func billOf(info *debug.BuildInfo, file, version, sum string) bill {
	if version == "" {
		version = info.Main.Version
	}
	program := component{Type: "application", Name: info.Main.Path, Version: version, PURL: purl(info.Main.Path, version),
		Hashes: []hash{{"SHA-256", sum}}, Properties: []property{{"file", file}}}
	program.Ref = program.PURL
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "-trimpath":
			program.Properties = append(program.Properties, property{"go:build:" + s.Key, s.Value})
		}
	}
	b := bill{Format: "CycloneDX", SpecVersion: "1.5", Version: 1, Metadata: metadata{program}, Components: []component{}}
	on := []string{}
	add := func(c component) {
		c.Ref, c.Type = c.PURL, "library"
		b.Components, on = append(b.Components, c), append(on, c.Ref)
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		add(c)
	}
	std := strings.TrimPrefix(info.GoVersion, "go")
	add(component{Name: "std", Version: std, PURL: purl("std", std)})
	b.Depends = []dependency{{Ref: program.Ref, On: on}}
	return b
}

// purl names a module as package URLs do.
func purl(path, version string) string {
	return "pkg:golang/" + strings.ReplaceAll(url.PathEscape(path), "%2F", "/") + "@" + url.QueryEscape(version)
}
