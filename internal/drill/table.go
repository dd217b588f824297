package drill

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onceward/onceward"
)

// WriteTable writes the report for a terminal.
func (r *Report) WriteTable(out io.Writer) error {
	var b strings.Builder
	for i := range r.Tools {
		t := &r.Tools[i]
		fmt.Fprintf(&b, "\n%s (%s): %s\n", t.Name, t.Effect, t.Promise)
		fmt.Fprintf(&b, "%s:%d, at %s, waits divided by %g, provider's worst lateness: %s\n", t.File, t.Line, strings.Join(t.Hosts, ", "), t.Factor, t.Lateness)
		for _, note := range t.Notes {
			fmt.Fprintf(&b, "note: %s\n", note)
		}
		table(&b, r.rowsOf(t.Name))
	}
	r.words(&b)
	_, err := io.WriteString(out, onceward.Visible(b.String()))
	return err
}

func table(b *strings.Builder, rows []Row) {
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "SCENARIO\tDELIVERIES\tATTEMPTS\tEFFECTS\tHUMAN ASKS\tSETTLED\tVERDICT")
	for i := range rows {
		row := &rows[i]
		if !row.ran() {
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\t-\t%s: %s\n", row.Scenario, row.Verdict, oneLine(row.Why))
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\n", row.Scenario, row.Deliveries, row.Attempts, row.Effects, row.HumanAsks, seconds(row.Settled), row.Verdict)
	}
	_ = w.Flush()
	for i := range rows {
		if row := &rows[i]; row.needsWords() {
			fmt.Fprintf(b, "  %s: %s\n", row.Scenario, oneLine(row.Why))
			if c := row.Change; c != nil {
				fmt.Fprintf(b, "    %s:%d: %s: %s\n", c.File, c.Line, c.Field, oneLine(c.Sentence))
			}
		}
	}
}

// words are what stands below the tables.
func (r *Report) words(b *strings.Builder) {
	if left := r.LeftBehind(); !r.Demo && len(left) > 0 {
		fmt.Fprintf(b, "\nLeft behind at the provider (keys hold drill-%s):\n", r.Run)
		for i := range left {
			row := &left[i]
			fmt.Fprintf(b, "  %s, %s: key %s, references %s\n", row.Tool, row.Scenario, oneLine(strings.Join(row.Keys, " ")), oneLine(orNone(row.References)))
		}
		for i := range r.Tools {
			if t := &r.Tools[i]; t.Compensation != "" {
				fmt.Fprintf(b, "  %s would be undone by %s; a drill undoes nothing.\n", t.Name, t.Compensation)
			}
		}
	}
	fmt.Fprintf(b, "\nledger %s, run %s, %s:", r.Ledger, r.Run, r.Ended.Sub(r.Started).Round(time.Second))
	for _, v := range Verdicts {
		if n := r.Totals[v]; n > 0 {
			fmt.Fprintf(b, " %d %s.", n, v)
		}
	}
	b.WriteString("\n")
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "unknown"
	}
	return strings.Join(list, " ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
