package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/testneed"
)

// partOf is the contract that parts of contracts are shown of.
const partOf = `apiVersion: onceward/v1
kind: Tool
metadata: {name: things.make, owner: us}
spec:
  effect: unsafe_write
  request: {method: POST, url: 'https://h.example.com/things', json: {id: '${input.id}'}}
`

// specMember is a first line of a page's part of a contract.
var specMember = regexp.MustCompile(`(?m)^(approval|review|source|key|sandbox|volatile|keep|probe|audit|outcomes|provider_key):`)

// Every document that a page shows is read by the reader that its readers will
// meet: contracts, whole or in part, by the loader and lint; the server's
// configuration by its own; Prometheus' by promtool.
func TestEveryDocumentOfTheDocumentationIsRead(t *testing.T) {
	t.Parallel()
	read := map[string]int{}
	for _, name := range docPages(t) {
		for _, b := range readBlocks(t, name) {
			kind, err := readDocument(t, &b)
			if err != nil {
				t.Errorf("%s:%d: as %s it is refused: %v", b.page, b.line, kind, err)
			}
			read[kind]++
		}
	}
	t.Logf("read: %v", read)
	if read["a contract"] < 3 || read["a part of a contract"] < 5 || read["configuration"] < 5 {
		t.Errorf("of the documents only %v were found", read)
	}
}

func readDocument(t *testing.T, b *docBlock) (kind string, err error) {
	t.Helper()
	switch {
	case b.lang == "json":
		var v any
		return "JSON", json.Unmarshal([]byte(b.text), &v)
	case b.lang != "yaml":
		return "no document", nil
	case strings.HasPrefix(b.text, "apiVersion: onceward/"):
		return "a contract", lintText(t, b.text)
	case strings.HasPrefix(b.text, "scrape_configs:"):
		return "Prometheus' configuration", checkPrometheus(t, b.text)
	case specMember.MatchString(strings.TrimPrefix(dedent(b.text), "spec:\n")) || strings.HasPrefix(b.text, "spec:\n"):
		text := b.text
		if inner, ok := strings.CutPrefix(text, "spec:\n"); ok {
			text = dedent(inner)
		}
		return "a part of a contract", lintText(t, partOf+indent(text))
	}
	path := filepath.Join(t.TempDir(), "onceward.yaml")
	if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
		return "configuration", err
	}
	c := &cobra.Command{}
	c.Flags().String("config", path, "")
	return "configuration", new(config).readFile(c)
}

// lintText loads a document as onceward contract lint does. What lint calls an
// error is one.
func lintText(t *testing.T, text string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shown.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	set, err := contract.LoadDir([]string{path}, lookingOptions())
	if err != nil {
		return err
	}
	found, errs := findings(set)
	if errs > 0 {
		return fmt.Errorf("lint: %+v", found)
	}
	return nil
}

func checkPrometheus(t *testing.T, text string) error {
	t.Helper()
	bin, err := exec.LookPath("promtool")
	if err != nil {
		testneed.Missing(t, "promtool is not installed: apt-get install prometheus")
	}
	path := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(t.Context(), bin, "check", "config", "--syntax-only", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("promtool: %w\n%s", err, out)
	}
	return nil
}

// dedent takes the first line's indentation off each line.
func dedent(text string) string {
	by := text[:len(text)-len(strings.TrimLeft(text, " "))]
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n"+by, "\n"), by)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
