package drill

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// The files that WriteFiles writes.
const (
	JSONFile  = "report.json"
	JUnitFile = "junit.xml"
	HTMLFile  = "report.html"
)

// CanWrite makes the folder of a report and tries to write there, so that a long
// drill does not end with nowhere to tell it.
func CanWrite(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder for the report: %w", err)
	}
	f, err := os.CreateTemp(dir, ".onceward-drill-")
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// WriteFiles writes the report into a folder, which is made if it is not there:
// JSON, JUnit XML and one HTML page that needs nothing else.
func (r *Report) WriteFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder for the report: %w", err)
	}
	for name, write := range map[string]func(io.Writer) error{JSONFile: r.WriteJSON, JUnitFile: r.writeJUnit, HTMLFile: r.writeHTML} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return fmt.Errorf("write report %s: %w", name, err)
		}
	}
	return nil
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Started  string      `xml:"timestamp,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (r *Report) writeJUnit(w io.Writer) error {
	all := junitSuites{Name: "onceward drill", Time: plainSeconds(r.Ended.Sub(r.Started))}
	for i := range r.Tools {
		s := junitSuite{Name: r.Tools[i].Name, Started: r.Started.Format("2006-01-02T15:04:05")}
		var took time.Duration
		for _, row := range r.rowsOf(s.Name) {
			c := junitCase{Class: row.Tool, Name: row.Scenario, Time: plainSeconds(row.Settled)}
			took += row.Settled
			switch row.Verdict {
			case Broken:
				c.Failure = &junitText{Message: row.Why, Text: changeText(row.Change)}
				s.Failures++
			case Trouble:
				c.Error = &junitText{Message: row.Why, Text: row.Log}
				s.Errors++
			case NotApplicable, NotDrilled:
				c.Skipped = &junitText{Message: said(string(row.Verdict), row.Why)}
				s.Skipped++
			case Kept, Outside:
				c.Out = said(string(row.Verdict), row.Why, changeText(row.Change))
			}
			s.Cases = append(s.Cases, c)
		}
		s.Tests, s.Time = len(s.Cases), plainSeconds(took)
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// said joins what there is to say.
func said(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

func plainSeconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func changeText(c *Change) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d: %s: %s", c.File, c.Line, c.Field, c.Sentence)
}

func (r *Report) writeHTML(w io.Writer) error {
	var b strings.Builder
	if err := page.Execute(&b, r); err != nil {
		return err
	}
	_, err := io.WriteString(w, onceward.Visible(b.String()))
	return err
}

// page is the report for a browser: no script, nothing from elsewhere; every
// value is escaped by html/template.
var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"rows":    func(r *Report, tool string) []Row { return r.rowsOf(tool) },
	"ran":     func(row Row) bool { return row.ran() },
	"seconds": seconds,
	"class":   func(v Verdict) string { return strings.ReplaceAll(string(v), " ", "-") },
	"change":  changeText,
	"join":    func(list []string) string { return strings.Join(list, ", ") },
	"took":    func(r *Report) string { return r.Ended.Sub(r.Started).Round(time.Second).String() },
	"order":   func() []Verdict { return Verdicts },
}).Parse(pageText))

const pageText = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Onceward drill {{.Run}}</title>
<style>
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 88rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; } td.n small { white-space: nowrap; } td:first-child { min-width: 15rem; } td:last-child { min-width: 15rem; }
code { font-family: ui-monospace, monospace; font-size: .92em; overflow-wrap: anywhere; }
small { opacity: .75; } .scroll { overflow-x: auto; }
.v { white-space: nowrap; font-weight: 600; }
.v::before { content: "● "; }
.as-promised::before { color: #1a7f37; } .broken::before, .trouble::before { color: #cf222e; }
.outside-the-promise::before, .not-drilled::before { color: #bf8700; } .not-applicable::before { color: #888; }
</style>
</head>
<body>
<h1>Onceward drill {{.Run}}</h1>
<p>{{.Started.Format "2006-01-02 15:04:05 MST"}}, {{took .}}, ledger {{.Ledger}}.
{{range order}}{{$n := index $.Totals .}}{{if $n}}<span class="v {{class .}}">{{$n}} {{.}}</span> {{end}}{{end}}</p>
{{range .Tools}}{{$tool := .}}
<h2>{{.Name}}</h2>
<p>{{.Effect}}: {{.Promise}}. <code>{{.File}}:{{.Line}}</code>, version <code>{{.Version}}</code>, at {{join .Hosts}}.
The provider's worst lateness: {{.Lateness}}. Marked by <code>{{.KeyField}}</code>.</p>
{{if .Waits}}<p><small>Waits divided by {{.Factor}}, within limits: {{range $i, $w := .Waits}}{{if $i}}, {{end}}<code>{{$w.Field}}</code> {{$w.Was}} → {{$w.Is}}{{end}}.</small></p>{{end}}
{{range .Notes}}<p><small>Note: {{.}}.</small></p>{{end}}
<div class="scroll"><table>
<thead><tr><th>Scenario</th><th class="n">Deliveries</th><th class="n">Attempts</th><th class="n">Writes at the provider</th><th class="n">Effects</th><th class="n">Human asks</th><th class="n">Settled</th><th>State</th><th>Verdict</th></tr></thead>
<tbody>
{{range rows $ .Name}}<tr>
<td><code>{{.Scenario}}</code><br><small>{{.Title}}</small></td>
{{if ran .}}<td class="n">{{.Deliveries}}</td><td class="n">{{.Attempts}}</td><td class="n">{{.Writes}}</td><td class="n">{{.Effects}}<br><small>{{.CountedBy}}</small></td><td class="n">{{.HumanAsks}}</td><td class="n">{{seconds .Settled}}</td><td>{{.State}}</td>{{else}}<td colspan="7"></td>{{end}}
<td><span class="v {{class .Verdict}}">{{.Verdict}}</span>{{if .Why}}<br>{{.Why}}{{end}}{{if .Change}}<br><code>{{change .Change}}</code>{{end}}{{if .Log}}<br><small>{{.Log}}</small>{{end}}</td>
</tr>
{{end}}</tbody></table></div>
{{if .Compensation}}{{if not $.Demo}}<p><small>What was left behind would be undone by {{.Compensation}}; a drill undoes nothing.</small></p>{{end}}{{end}}
{{end}}
{{if not .Demo}}{{with .LeftBehind}}<h2>Left behind at the provider</h2>
<div class="scroll"><table><thead><tr><th>Tool</th><th>Scenario</th><th>Key</th><th>References</th></tr></thead><tbody>
{{range .}}<tr><td>{{.Tool}}</td><td>{{.Scenario}}</td><td><code>{{join .Keys}}</code></td><td><code>{{join .References}}</code></td></tr>
{{end}}</tbody></table></div>{{end}}{{end}}
</body>
</html>
`
