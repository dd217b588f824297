package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/internal/httpapi"
)

func newHold() *cobra.Command {
	c := &cobra.Command{Use: "hold", Short: "Set, list and lift legal holds"}
	serverFlag(c)
	c.AddCommand(newHoldSet(), newHoldList(), newHoldLift())
	return c
}

func newHoldSet() *cobra.Command {
	var reason string
	var all bool
	given := map[string]*string{}
	c := &cobra.Command{
		Use: "set --reason WHY --all|CONDITIONS", Short: "Hold records: what it covers is neither retired nor dropped nor shredded", Args: cobra.NoArgs,
		Long:    "A record is covered if every condition that is given holds for it. Who set it, and why, goes into the audit trail.",
		Example: "  onceward hold set --operation op_… --reason 'matter 7'\n  onceward hold set --tool payments.refund --from 2026-01-01T00:00:00Z --until 2026-04-01T00:00:00Z --reason 'matter 7'",
		RunE: func(c *cobra.Command, _ []string) error {
			body := map[string]any{"reason": reason}
			for name, v := range given {
				if *v != "" {
					body[name] = *v
				}
			}
			if all == (len(body) > 1) {
				return usageError("give conditions, or --all for everything of the tenant")
			}
			var answer httpapi.HoldAnswer
			if done, err := ask(c, "POST", "/v1/holds", body, &answer); err != nil || done {
				return err
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s holds %s\n", answer.Hold.ID, covered(&answer.Hold))
			return err
		},
	}
	f := c.Flags()
	for name, usage := range map[string]string{"operation": "that operation", "subject": "operations of that subject, by the name that the contract's keep.subject gives", "tool": "operations of that tool",
		"from": "created then or later, as 2026-01-02T15:04:05Z", "until": "created before"} {
		given[name] = f.String(name, "", usage)
	}
	f.BoolVar(&all, "all", false, "everything of the tenant")
	f.StringVar(&reason, "reason", "", "what it is held for")
	return c
}

// covered says in words what a hold covers.
func covered(h *httpapi.Hold) string {
	var parts []string
	for _, p := range []struct{ name, v string }{{"operation", h.Operation}, {"subject", h.SubjectID}, {"tool", h.Tool}, {"from", shortTime(h.From)}, {"until", shortTime(h.Until)}} {
		if p.v != "" {
			parts = append(parts, p.name+" "+p.v)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "everything")
}

func shortTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

func newHoldList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the legal holds that stand", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var list httpapi.HoldList
			if done, err := ask(c, "GET", "/v1/holds", nil, &list); err != nil || done {
				return err
			}
			w := newTable(c.OutOrStdout(), "HOLD", "COVERS", "SINCE", "BY", "REASON")
			for i := range list.Holds {
				h := &list.Holds[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", h.ID, covered(h), shortTime(h.At), h.By, visible(h.Reason))
			}
			return w.Flush()
		},
	}
}

func newHoldLift() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "lift HOLD --reason WHY", Short: "Lift a legal hold: what it covered goes when its time is over", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var answer httpapi.HoldAnswer
			if done, err := ask(c, "POST", "/v1/holds/"+escape(args[0])+"/lift", map[string]any{"reason": reason}, &answer); err != nil || done {
				return err
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s is lifted\n", answer.Hold.ID)
			return err
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why it is over")
	return c
}
