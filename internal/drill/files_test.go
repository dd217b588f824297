package drill

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile is text that wants to be markup everywhere.
const hostile = `<script src="https://evil.example/x.js">alert(1)</script>]]>&amp;"'` + "\x00\x1b"

func hostileReport() *Report {
	r := &Report{
		Run: hostile, Started: time.Unix(1700000000, 0).UTC(), Ended: time.Unix(1700000060, 0).UTC(), Ledger: hostile,
		Tools: []ToolReport{{Name: hostile, Effect: hostile, Promise: hostile, File: hostile, Hosts: []string{hostile}, KeyField: hostile, Notes: []string{hostile}, Compensation: hostile, Lateness: hostile, Waits: []Wait{{Field: hostile, Was: 2, Is: 1}}}},
	}
	for _, v := range Verdicts {
		r.Rows = append(r.Rows, Row{Tool: hostile, Scenario: hostile, Title: hostile, Verdict: v, Why: hostile, State: hostile, CountedBy: hostile, Writes: 1, Log: hostile,
			Keys: []string{hostile}, References: []string{hostile}, Change: &Change{File: hostile, Line: 7, Field: hostile, Sentence: hostile}})
	}
	r.sum()
	return r
}

func TestReportsHoldHostileTextAsText(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	r := hostileReport()
	if err := r.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	html := string(read(HTMLFile))
	for _, forbidden := range []string{"<script", "src=", "href=", "url(", "@import", "<link", "<img", "<iframe"} {
		if strings.Contains(strings.ReplaceAll(html, "src=&#34;", ""), forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
	if !strings.Contains(html, "&lt;script") || !strings.Contains(html, "</html>") {
		t.Error("the page does not show the text")
	}
	if strings.ContainsAny(html, "\x00\x1b") || !strings.Contains(html, "⟦U+001B⟧") {
		t.Error("the page has control bytes, or does not show them")
	}
	if junit := string(read(JUnitFile)); strings.Contains(junit, `: "`) || strings.Contains(junit, ":<") {
		t.Error("junit.xml has a colon with nothing behind it")
	}
	var back Report
	if err := json.Unmarshal(read(JSONFile), &back); err != nil || len(back.Rows) != len(r.Rows) || back.Rows[0].Change.Line != 7 {
		t.Errorf("%v, %+v", err, back)
	}
	var suites junitSuites
	if err := xml.Unmarshal(read(JUnitFile), &suites); err != nil {
		t.Fatal(err)
	}
	if suites.Tests != len(Verdicts) || suites.Failures != 1 || suites.Errors != 1 || suites.Skipped != 2 {
		t.Errorf("%d tests, %d failures, %d errors, %d skipped", suites.Tests, suites.Failures, suites.Errors, suites.Skipped)
	}
	for dec := xml.NewDecoder(bytes.NewReader(read(JUnitFile))); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheTableSaysWhatToChangeAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	r := hostileReport()
	r.Run, r.Tools[0].Name = "r1", "t"
	for i := range r.Rows {
		r.Rows[i].Tool, r.Rows[i].Change.File, r.Rows[i].Keys = "t", "c.yaml", []string{"drill-r1-1"}
	}
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x00\x1b") {
		t.Error("a terminal would obey the text")
	}
	for _, want := range []string{"c.yaml:7: ", "Left behind", "key drill-r1-1", "1 broken. 1 trouble. 1 not drilled. 1 outside the promise. 1 not applicable. 1 as promised."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, b.String())
		}
	}
	r.Demo = true
	b.Reset()
	if err := r.WriteTable(&b); err != nil || strings.Contains(b.String(), "Left behind") {
		t.Errorf("a demonstration leaves nothing behind: %v", err)
	}
}
