package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/drill"
	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/testdb"
)

// runDrills runs the built program, and returns its exit code, its report and
// what it said.
func runDrills(t *testing.T, env []string, args ...string) (code int, report drill.Report, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, proctest.Binary(t), append([]string{"drill", "--json"}, args...)...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	return cmd.ProcessState.ExitCode(), report, errs.String()
}

// TestTheDemonstrationIsAsPromisedAndWritesItsReports runs a part of the
// demonstration, one scenario of each sort.
func TestTheDemonstrationIsAsPromisedAndWritesItsReports(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "report")
	code, report, said := runDrills(t, nil, "--demo", "--out", out, "--scenario",
		"ten-duplicates,answer-lost,5xx-after-commit/html,crash/record.before_commit,material-change,reworded,credentials-revoked")
	if code != exitDone {
		t.Errorf("exit %d\n%s", code, said)
	}
	if len(report.Tools) != 5 || len(report.Rows) != 5*7 {
		t.Errorf("%d tools, %d rows", len(report.Tools), len(report.Rows))
	}
	for _, row := range report.Rows {
		switch {
		case row.Verdict != drill.Kept && row.Verdict != drill.NotApplicable:
			t.Errorf("%s %s: %s %s\n%s", row.Tool, row.Scenario, row.Verdict, row.Why, row.Log)
		case row.Verdict == drill.Kept && (row.Effects != 1 || row.Deliveries == 0 || !strings.Contains(row.CountedBy, "books")):
			t.Errorf("%+v", row)
		}
		if asks := row.Tool == "fax.send" && (row.Scenario == "answer-lost" || row.Scenario == "5xx-after-commit/html"); asks && row.HumanAsks != 1 {
			t.Errorf("%s %s: %d human asks", row.Tool, row.Scenario, row.HumanAsks)
		}
	}
	checkFiles(t, out, len(report.Rows))
}

// checkFiles reads the three reports as their readers do.
func checkFiles(t *testing.T, dir string, rows int) {
	t.Helper()
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	cases := 0
	for dec := xml.NewDecoder(strings.NewReader(read(drill.JUnitFile))); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("junit.xml: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "testcase" {
			cases++
		}
	}
	if cases != rows {
		t.Errorf("junit.xml has %d cases of %d rows", cases, rows)
	}
	html := read(drill.HTMLFile)
	for _, outside := range []string{"<script", "src=", "href=", "url(", "@import"} {
		if strings.Contains(html, outside) {
			t.Errorf("the page has %s", outside)
		}
	}
	if !json.Valid([]byte(read(drill.JSONFile))) {
		t.Error("report.json is no JSON")
	}
}

// shortSettle is a contract whose provider is later than its settle.
const shortSettle = `apiVersion: onceward/v1
kind: Tool
metadata: {name: tickets.create, owner: o}
spec:
  effect: probed_write
  key: [input.event_id]
  input: {type: object, required: [event_id], properties: {event_id: {type: string}}}
  request:
    method: POST
    url: ${env.SIM_URL}/tickets
    json: {title: t, external_id: '${operation.provider_key}', audit_reference: '${input.event_id}'}
    deadline: 2s
  lease: 5s
  outcomes:
    - {when: 'response.status == 201', is: done, reference: '${response.json.id}'}
  probe:
    request: {url: '${env.SIM_URL}/tickets?external_id=${operation.provider_key}'}
    found: '${response.json.items}'
    reference: '${item.id}'
    settle: 1s
  sandbox: {hosts: [127.0.0.1], lateness: 2500ms}
`

func TestASettleThatIsTooShortForItsProviderIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	provider := proctest.NewProvider(t)
	dir := t.TempDir()
	file, input := filepath.Join(dir, "tickets.yaml"), filepath.Join(dir, "input.json")
	for name, text := range map[string]string{file: shortSettle, input: `{"event_id":"e"}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"SIM_URL=" + provider.URL}
	args := []string{"--contracts", file, "--input", input, "--yes", "--scenario", "one-delivery,late-commit"}
	code, report, said := runDrills(t, env, args...)
	if code != exitBroken || len(report.Rows) != 2 {
		t.Fatalf("exit %d, %d rows\n%s", code, len(report.Rows), said)
	}
	fine, late := report.Rows[0], report.Rows[1]
	if fine.Verdict != drill.Kept || fine.Effects != 1 {
		t.Errorf("%+v", fine)
	}
	// A machine that is slow enough meets the effect before it looks: the verdict is the same.
	if late.Verdict != drill.Broken || late.Effects < 1 || late.Effects > 2 || late.Change == nil || late.Change.File != file || late.Change.Line != 20 || late.Change.Field != "spec.probe.settle" {
		t.Errorf("%+v, %+v", late, late.Change)
	}
	// What was written is found by the mark, and nothing else was.
	marked := 0
	for _, item := range provider.Summary().Items {
		if !strings.HasPrefix(item.Reference, "drill-"+report.Run+"-") {
			t.Errorf("a write without the drill's mark: %+v", item)
		}
		marked += item.Count
	}
	if want := fine.Effects + late.Effects; marked != want {
		t.Errorf("%d effects at the provider, want %d", marked, want)
	}
	// A provider that is known to be faster is no reason to worry.
	code, report, said = runDrills(t, env, append(args, "--provider-lateness", "500ms")...)
	if code != exitDone || report.Rows[1].Verdict != drill.Kept {
		t.Errorf("exit %d\n%s", code, said)
	}
}

// TestAProviderThatBreaksItsWordIsFound: a drill that is always green is none.
func TestAProviderThatBreaksItsWordIsFound(t *testing.T) {
	t.Parallel()
	provider := proctest.NewProvider(t)
	if _, err := provider.AddFaults(simprovider.Script{System: "tickets", Faults: []simprovider.Fault{{Name: "duplicate_delivery"}}}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, input := filepath.Join(dir, "tickets.yaml"), filepath.Join(dir, "input.json")
	for name, text := range map[string]string{file: shortSettle, input: `{"event_id":"e"}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, report, said := runDrills(t, []string{"SIM_URL=" + provider.URL}, "--contracts", file, "--input", input, "--yes", "--scenario", "one-delivery")
	if code != exitBroken || report.Rows[0].Effects != 2 || report.Rows[0].Verdict != drill.Broken {
		t.Errorf("exit %d, %+v\n%s", code, report.Rows, said)
	}
}

func TestADrillIsRefusedBeforeItAsksOrWrites(t *testing.T) {
	t.Parallel()
	provider := proctest.NewProvider(t)
	dir := t.TempDir()
	file, input, taken := filepath.Join(dir, "tickets.yaml"), filepath.Join(dir, "input.json"), filepath.Join(dir, "taken")
	for name, text := range map[string]string{file: shortSettle, input: `{"event_id":"e"}`, taken: ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own := []string{"--contracts", file, "--input", input}
	for says, args := range map[string][]string{
		"--provider-lateness cannot be negative": append(own[:4:4], "--provider-lateness=-1s"),
		"--scale has to be greater than 0":       append(own[:4:4], "--scale", "0"),
		"--parallel has to be at least 1":        append(own[:4:4], "--parallel", "0"),
		"--answer-within has to be greater":      append(own[:4:4], "--answer-within", "0s"),
		"no report can be written to --out":      append(own[:4:4], "--out", filepath.Join(taken, "report")),
		`the input field "nope"`:                 append(own[:4:4], "--key-field", "nope"),
		"volatile field":                         append(own[:4:4], "--volatile", "nope"),
		"--input is for a contract of your own":  {"--demo", "--input", input},
	} {
		cmd := exec.CommandContext(t.Context(), proctest.Binary(t), append([]string{"drill"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "SIM_URL="+provider.URL)
		said, _ := cmd.CombinedOutput() // its code says it
		if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(string(said), says) || strings.Contains(string(said), "WRITES") {
			t.Errorf("%q: exit %d\n%s", args, code, said)
		}
	}
	if n := provider.Summary().Count; n != 0 {
		t.Errorf("%d effects at the provider", n)
	}
}

func TestReplicasAreDrilledOnPostgreSQLToo(t *testing.T) {
	t.Parallel()
	code, report, said := runDrills(t, nil, "tickets.create", "--demo", "--db", testdb.Postgres(t), "--scenario", "two-replicas,crash/record.before_commit")
	if code != exitDone || len(report.Rows) != 2 || !strings.HasPrefix(report.Ledger, "PostgreSQL") {
		t.Errorf("exit %d, %+v\n%s", code, report, said)
	}
}
