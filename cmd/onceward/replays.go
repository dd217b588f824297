package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/onceward/onceward"
)

// bulkFlags select the operations of a bulk replay.
type bulkFlags struct {
	dead, dryRun                                bool
	tool, run, correlation, plan, from, to, key string
	states                                      []string
	rate                                        int
}

func (b *bulkFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&b.dead, "dead", false, "all dead letters: in review, failed or abandoned")
	f.StringVar(&b.tool, "tool", "", "those of this tool")
	f.StringSliceVar(&b.states, "state", nil, "those in these states: failed, needs_review, abandoned, outcome_unknown")
	f.StringVar(&b.run, "run", "", "those of this run")
	f.StringVar(&b.correlation, "correlation-id", "", "those of this business event")
	f.StringVar(&b.from, "from", "", "created at or after this time, as RFC 3339")
	f.StringVar(&b.to, "to", "", "created before this time, as RFC 3339")
	f.StringVar(&b.plan, "plan", "", "those of this finished dry run")
	f.StringVar(&b.key, "key", "", "names the replay: the same key is the same one")
	f.BoolVar(&b.dryRun, "dry-run", false, "plan each, and replay none")
	f.IntVar(&b.rate, "rate", onceward.BulkRate, "how many operations a minute")
}

// used reports whether any operation is selected by them.
func (b *bulkFlags) used() bool {
	return b.dead || b.tool != "" || len(b.states) > 0 || b.run != "" || b.correlation != "" || b.plan != "" || b.from != "" || b.to != ""
}

// bulkView is a bulk replay as the server shows it.
type bulkView struct {
	ID       string         `json:"id"`
	State    string         `json:"state"`
	Counts   map[string]int `json:"counts"`
	Sentence string         `json:"sentence"`
	Cut      bool           `json:"cut"`
	Results  []struct {
		Operation, Outcome, Message string
	} `json:"results"`
}

// start starts a bulk replay and follows it to its end.
func (b *bulkFlags) start(c *cobra.Command, reason, confirm string) error {
	if !b.used() {
		return usageError("say what is replayed: an ID, --dead, --tool, --state, --run, --correlation-id or --plan")
	}
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	rep, err := cl.do(c.Context(), "POST", "/v1/replays", b.body(reason, confirm))
	if err != nil {
		return err
	}
	var a struct {
		Replay bulkView `json:"replay"`
	}
	for seen := 0; ; seen = len(a.Replay.Results) {
		a.Replay = bulkView{}
		if err := json.Unmarshal(rep.body, &a); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		for _, r := range a.Replay.Results[min(seen, len(a.Replay.Results)):] {
			fmt.Fprintf(c.ErrOrStderr(), "%s  %s: %s\n", r.Operation, r.Outcome, visible(r.Message))
		}
		if a.Replay.State != string(onceward.BulkRunning) {
			break
		}
		if rep, err = cl.later(c.Context(), a.Replay.ID); err != nil {
			return err
		}
	}
	if wantsJSON(c) {
		return printJSON(c.OutOrStdout(), rep.body)
	}
	a.Replay.print(c.OutOrStdout())
	return nil
}

// later reads a bulk replay after a while.
func (cl *client) later(ctx context.Context, id string) (*reply, error) {
	select {
	case <-time.After(bulkRest):
	case <-ctx.Done():
		return nil, &onceward.Error{Code: onceward.CodeCanceled, Message: "stopped watching; the replay " + id + " goes on"}
	}
	return cl.do(ctx, "GET", "/v1/replays/"+escape(id), nil)
}

// bulkRest is the pause between two looks at a bulk replay.
const bulkRest = 200 * time.Millisecond

func (b *bulkFlags) body(reason, confirm string) map[string]any {
	filter := map[string]any{}
	for name, v := range map[string]string{"tool": b.tool, "run": b.run, "correlation_id": b.correlation, "from": b.from, "to": b.to} {
		if v != "" {
			filter[name] = v
		}
	}
	if len(b.states) > 0 {
		filter["states"] = b.states
	}
	body := map[string]any{"reason": reason, "rate": b.rate, "dry_run": b.dryRun}
	if len(filter) > 0 {
		body["filter"] = filter
	}
	for name, v := range map[string]string{"plan": b.plan, "confirm": confirm, "key": b.key} {
		if v != "" {
			body[name] = v
		}
	}
	return body
}

func (v *bulkView) print(w io.Writer) {
	printLine(w, "replay", v.ID)
	printLine(w, "state", v.State)
	for _, o := range onceward.BulkOutcomes {
		if n := v.Counts[string(o)]; n > 0 {
			fmt.Fprintf(w, "%-18s %d\n", o, n)
		}
	}
	if v.Cut {
		fmt.Fprintf(w, "There are more than the %d that one replay takes on.\n", onceward.BulkReplayMax)
	}
	if v.Sentence != "" {
		fmt.Fprintf(w, "confirm with --plan %s --confirm %q\n", v.ID, v.Sentence)
	}
}
