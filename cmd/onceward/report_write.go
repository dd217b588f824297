package main

import (
	"bufio"
	"html/template"
	"io"
	"strings"

	"github.com/onceward/onceward"
)

// markdownText keeps a text from being anything but text in Markdown.
var markdownText = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"#", `\#`, "|", `\|`, "!", `\!`, "~", `\~`, "\n", " ", "\r", " ")

func md(s string) string { return markdownText.Replace(onceward.Visible(s)) }

// writeMarkdown writes a report as Markdown with tables.
func writeMarkdown(out io.Writer, p page) error {
	w := bufio.NewWriter(out)
	line := func(parts ...string) { _, _ = w.WriteString(strings.Join(parts, "") + "\n") } // Flush tells
	line("# ", md(p.Title), "\n")
	for _, s := range p.Intro {
		line(md(s), "\n")
	}
	for _, s := range p.Sections {
		line("## ", md(s.Title), "\n")
		if s.Serves != "" {
			line("Serves: ", md(s.Serves), "\n")
		}
		for _, n := range s.Notes {
			line(md(n), "\n")
		}
		for _, t := range s.Tables {
			line("### ", md(t.Title), "\n")
			if len(t.Rows) == 0 {
				line("None.\n")
				continue
			}
			line(cells(t.Head))
			line("|", strings.Repeat(" --- |", len(t.Head)))
			for _, r := range t.Rows {
				line(cells(r))
			}
			line()
		}
	}
	return w.Flush()
}

func cells(row []string) string {
	var b strings.Builder
	b.WriteString("|")
	for _, c := range row {
		b.WriteString(" " + md(c) + " |")
	}
	return b.String()
}

// htmlPage holds everything that it shows: it asks nobody for anything, which its
// policy makes sure of.
var htmlPage = template.Must(template.New("report").Funcs(template.FuncMap{"visible": onceward.Visible}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{visible .Title}}</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}
th,td{border-bottom:1px solid #d0d7de;padding:.3rem .6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{background:#f6f8fa}
.serves{color:#57606a}
</style></head><body>
<h1>{{visible .Title}}</h1>
{{range .Intro}}<p>{{visible .}}</p>
{{end}}{{range .Sections}}<section><h2>{{visible .Title}}</h2>
{{if .Serves}}<p class="serves">Serves: {{visible .Serves}}</p>
{{end}}{{range .Notes}}<p>{{visible .}}</p>
{{end}}{{range .Tables}}<h3>{{visible .Title}}</h3>
{{if .Rows}}<table><thead><tr>{{range .Head}}<th scope="col">{{visible .}}</th>{{end}}</tr></thead><tbody>
{{range .Rows}}<tr>{{range .}}<td>{{visible .}}</td>{{end}}</tr>
{{end}}</tbody></table>
{{else}}<p>None.</p>
{{end}}{{end}}</section>
{{end}}</body></html>
`))

// writeHTML writes a report as one page.
func writeHTML(w io.Writer, p page) error { return htmlPage.Execute(w, p) }
