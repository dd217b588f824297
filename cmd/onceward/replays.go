package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
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
	ID        string         `json:"id"`
	State     string         `json:"state"`
	DryRun    bool           `json:"dry_run"`
	Plan      string         `json:"plan"`
	Actor     string         `json:"actor"`
	Reason    string         `json:"reason"`
	Why       string         `json:"why"`
	CreatedAt time.Time      `json:"created_at"`
	Counts    map[string]int `json:"counts"`
	Sentence  string         `json:"sentence"`
	Cut       bool           `json:"cut"`
	Results   []struct {
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
	printLine(w, "because", v.Why)
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

// kind says what the replay does.
func (v *bulkView) kind() string {
	switch {
	case v.DryRun:
		return "dry run"
	case v.Plan != "":
		return "of " + v.Plan
	}
	return "by filter"
}

// counts says in one line what became of its operations.
func (v *bulkView) counts() string {
	var words []string
	for _, o := range onceward.BulkOutcomes {
		if n := v.Counts[string(o)]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(words, ", ")
}

func newReplayList() *cobra.Command {
	var limit int
	var after string
	c := &cobra.Command{
		Use: "list", Short: "List replays of many operations, newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			if after != "" {
				q.Set("after", after)
			}
			var page struct {
				Replays []bulkView `json:"replays"`
				Next    string     `json:"next"`
			}
			if done, err := ask(c, "GET", "/v1/replays?"+q.Encode(), nil, &page); err != nil || done {
				return err
			}
			w := newTable(c.OutOrStdout(), "REPLAY", "STATE", "WHAT", "ASKED", "BY", "SO FAR", "REASON")
			for i := range page.Replays {
				v := &page.Replays[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.ID, v.State, v.kind(), v.CreatedAt.Local().Format(time.DateTime), visible(v.Actor), v.counts(), visible(v.Reason))
			}
			return endPage(c, w, page.Next)
		},
	}
	c.Flags().IntVar(&limit, "limit", 50, "how many at the most, 100 at the most")
	c.Flags().StringVar(&after, "after", "", "go on behind this place, as the page before names it")
	return c
}

func newReplayShow() *cobra.Command {
	return &cobra.Command{
		Use: "show REPLAY", Short: "Show how far a replay of many operations is, and what became of each", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return showBulk(c, "GET", "/v1/replays/"+escape(args[0])) },
	}
}

func newReplayCancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel REPLAY", Short: "Take on no further operation of a replay; what is replayed stays so", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return showBulk(c, "POST", "/v1/replays/"+escape(args[0])+"/cancel")
		},
	}
}

// showBulk asks for a bulk replay, and shows all of it.
func showBulk(c *cobra.Command, method, path string) error {
	var a struct {
		Replay bulkView `json:"replay"`
	}
	if done, err := ask(c, method, path, nil, &a); err != nil || done {
		return err
	}
	a.Replay.print(c.OutOrStdout())
	for _, r := range a.Replay.Results {
		fmt.Fprintf(c.OutOrStdout(), "%s  %s: %s\n", r.Operation, r.Outcome, visible(r.Message))
	}
	return nil
}
