package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newReplay() *cobra.Command {
	c := &cobra.Command{Use: "replay", Short: "Try an old operation again under the same key, if that is safe"}
	serverFlag(c)
	c.AddCommand(newReplayPlan(), newReplayRun(), newReplayList(), newReplayShow(), newReplayCancel())
	return c
}

func newReplayPlan() *cobra.Command {
	return &cobra.Command{
		Use: "plan ID", Short: "Say whether a new attempt is safe, and why", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var plan struct {
				Operation operationView `json:"operation"`
				Verdict   string        `json:"verdict"`
				Reasons   []string      `json:"reasons"`
				Sentence  string        `json:"sentence"`
				Probe     string        `json:"probe"`
				Source    *struct {
					Changed   []string
					Then, Now json.RawMessage
				} `json:"source"`
			}
			if done, err := ask(c, "GET", "/v1/operations/"+escape(args[0])+"/replay", nil, &plan); err != nil || done {
				return err
			}
			w := c.OutOrStdout()
			fmt.Fprintf(w, "verdict      %s\n", plan.Verdict)
			for _, r := range plan.Reasons {
				fmt.Fprintf(w, "because      %s\n", r)
			}
			fmt.Fprintf(w, "look-up      %s\n", plan.Probe)
			if s := plan.Source; s != nil && len(s.Changed) > 0 {
				fmt.Fprintf(w, "source       changed: %s\n", visible(strings.Join(s.Changed, ", ")))
				printLine(w, "  then", visible(string(s.Then)))
				printLine(w, "  now", visible(string(s.Now)))
			}
			if plan.Sentence != "" {
				fmt.Fprintf(w, "confirm with --confirm %q\n", plan.Sentence)
			}
			printOperation(w, answerView{Operation: plan.Operation})
			return nil
		},
	}
}

func newReplayRun() *cobra.Command {
	var reason, confirm string
	var many bulkFlags
	c := &cobra.Command{
		Use: "run ID --reason WHY, or run --dead|--plan REPLAY [--dry-run] --reason WHY", Short: "Make the new attempt, or those of many operations", Args: cobra.MaximumNArgs(1),
		Long: "Without an ID it replays many operations, one after the other, and shows how far it is. The same command again is the\n" +
			"same replay. What needs a confirmation is left alone, unless a finished --dry-run is given as --plan and its\n" +
			"sentence is confirmed.",
		Example: "  onceward replay run op_… --reason 'the line is repaired'\n  onceward replay run --dead --tool fax.send --dry-run --reason 'the line is repaired'\n  onceward replay run --plan replay_… --confirm 'I accept …' --reason 'the line is repaired'",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return many.start(c, reason, confirm)
			}
			if many.used() {
				return usageError("with an ID there is nothing to select")
			}
			body := map[string]any{"reason": reason}
			if confirm != "" {
				body["confirm"] = confirm
			}
			return post(c, args[0], "replay", body)
		},
	}
	f := c.Flags()
	f.StringVar(&reason, "reason", "", "why it is tried again")
	f.StringVar(&confirm, "confirm", "", "the plan's sentence, word for word, where it asks for one")
	many.add(f)
	return c
}
