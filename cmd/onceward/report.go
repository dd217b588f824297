package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/internal/httpapi"
)

func newReport() *cobra.Command {
	var from, to, format, out, drill string
	c := &cobra.Command{
		Use: "report", Short: "Report how requests were answered and what waits, with an evidence pack for auditors", Args: cobra.NoArgs,
		Long: "Fresh, replayed, joined, blocked and escalated requests per tool, team and time; approvals, reviews and unknown\n" +
			"outcomes with their age; and an evidence pack in the order of the NIST AI RMF functions, with the duties of the\n" +
			"EU AI Act that each part serves. The last 30 days, if no time is given.",
		Example: "  onceward report\n  onceward report --from 2026-01-01T00:00:00Z --to 2026-04-01T00:00:00Z --format html --drill drill.json --out q1.html",
		RunE: func(c *cobra.Command, _ []string) error {
			within, err := parseSpan(from, to)
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				format = "json"
			}
			if !slices.Contains([]string{"markdown", "json", "html"}, format) {
				return usageError("--format is markdown, json or html")
			}
			results, err := readDrill(drill)
			if err != nil {
				return err
			}
			return makeReport(c, within, format, out, results)
		},
	}
	serverFlag(c)
	f := c.Flags()
	f.StringVar(&from, "from", "", "from this time on, as 2026-01-02T15:04:05Z; 30 days before --to if absent")
	f.StringVar(&to, "to", "", "until before this time; now if absent")
	f.StringVar(&format, "format", "markdown", "markdown, json or html")
	f.StringVar(&out, "out", "", "file to write; it must not be there yet. Default: standard output")
	f.StringVar(&drill, "drill", "", "result of onceward drill --json, for the evidence pack")
	return c
}

// drillBytesMax is the longest result of a drill that is read.
const drillBytesMax = 16 << 20

// readDrill reads the result of a drill; nil without one.
func readDrill(path string) (json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError("%s cannot be read: %v", path, err)
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, drillBytesMax+1))
	if err != nil || len(text) > drillBytesMax || !json.Valid(text) {
		return nil, usageError("%s holds no JSON of onceward drill --json", path)
	}
	return text, nil
}

func makeReport(c *cobra.Command, within span, format, out string, drill json.RawMessage) error {
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	q := url.Values{}
	for name, t := range map[string]time.Time{"from": within.from, "to": within.to} {
		if !t.IsZero() {
			q.Set(name, t.Format(time.RFC3339))
		}
	}
	rep, err := cl.do(c.Context(), "GET", "/v1/report?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	var a httpapi.ReportAnswer
	if err := json.Unmarshal(rep.body, &a); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if a.Report == nil {
		return stranger(cl.base, "its answer has no report")
	}
	return writeOut(c, out, func(w io.Writer) error { return writeReport(w, a.Report, drill, format) })
}

func writeReport(w io.Writer, r *httpapi.Report, drill json.RawMessage, format string) error {
	switch format {
	case "json":
		return printValue(w, map[string]any{"report": r, "evidence": evidencePack(r, drill), "drill": drill})
	case "html":
		return writeHTML(w, reportPage(r, drill))
	}
	return writeMarkdown(w, reportPage(r, drill))
}

// writeOut lets write write into a new file, or to standard output without a
// path. What the file says when it is closed counts: it may be full.
func writeOut(c *cobra.Command, path string, write func(w io.Writer) error) error {
	if path == "" {
		return write(c.OutOrStdout())
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return usageError("%s cannot be made: %v", path, err)
	}
	return errors.Join(write(f), f.Close())
}
