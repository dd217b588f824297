package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

func newReview() *cobra.Command {
	c := &cobra.Command{Use: "review", Short: "Settle what only a person can settle"}
	serverFlag(c)
	c.AddCommand(newReviewList(), newReviewShow(), newReviewResolve())
	return c
}

func newReviewShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show what was sent, what came back, what look-ups saw, and what you may answer", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			rep, err := cl.operation(c.Context(), args[0], "")
			if err != nil {
				return err
			}
			err = showAnswer(c, rep)
			if !wantsJSON(c) {
				cl.printReview(c, rep)
			}
			return err
		},
	}
}

// printReview prints what a person needs to answer: what a look-up cannot see,
// who can be asked, and the answers with what follows from each.
func (cl *client) printReview(c *cobra.Command, rep *reply) {
	w := c.OutOrStdout()
	var a answerView
	if json.Unmarshal(rep.body, &a) != nil {
		return // showAnswer has said so
	}
	if !answersWanted[a.Operation.State] {
		fmt.Fprintf(w, "\nNo answer is asked for: it is %s.\n", a.Operation.State)
		return
	}
	var found struct {
		Tool struct {
			BusinessOwner  string `json:"business_owner"`
			TechnicalOwner string `json:"technical_owner"`
			HasProbe       bool   `json:"has_probe"`
			BlindSpots     string `json:"blind_spots"`
		} `json:"tool"`
	}
	fmt.Fprintln(w)
	if tool, err := cl.do(c.Context(), "GET", "/v1/tools/"+escape(a.Operation.Tool), nil); err == nil && json.Unmarshal(tool.body, &found) == nil {
		printLine(w, "look-up", map[bool]string{true: "the contract has one; onceward op reconcile " + a.Operation.ID + " makes it now", false: "the contract has none: look at the provider yourself"}[found.Tool.HasProbe])
		printLine(w, "blind spots", found.Tool.BlindSpots)
		printLine(w, "owners", strings.Join(slices.Compact([]string{orNobody(found.Tool.BusinessOwner), orNobody(found.Tool.TechnicalOwner)}), ", "))
	}
	printLine(w, "sent key", a.Operation.ProviderKey) // what the provider may know it by
	printAnswers(w, &a.Operation)
}

// answersWanted are the states in which a person's word settles something.
var answersWanted = map[string]bool{"needs_review": true, "outcome_unknown": true, "abandoned": true}

// reviewAnswer is one of the answers that a person may give.
type reviewAnswer struct{ when, flags, then string }

// printAnswers prints the answers that the operation lets in, as commands.
func printAnswers(w io.Writer, o *operationView) {
	happened := reviewAnswer{"it happened", "--outcome succeeded --reference REFERENCE", "it becomes succeeded, nothing is sent again, and whoever asks gets the reference"}
	answers := []reviewAnswer{happened}
	switch {
	case o.Reference != "": // an effect is proven
	case o.CancelRequested:
		answers = append(answers, reviewAnswer{"it did not", "--outcome not_performed --then fail --reason WHY", "it becomes cancelled, as somebody asked; nothing is sent again"})
	default:
		answers = append(answers,
			reviewAnswer{"it did not; try again", "--outcome not_performed --then retry --reason WHY", "it is sent again at once under the same key: if it happened after all, it happens twice"},
			reviewAnswer{"it did not; leave it", "--outcome not_performed --then fail --reason WHY", "it becomes failed, nothing is sent again by itself, and whoever asks is told that it did not happen"})
	}
	if o.State != "abandoned" {
		answers = append(answers, reviewAnswer{"nobody can tell", "--outcome abandoned --reason WHY", "it becomes abandoned, nobody looks any further, and whoever asks is told that it may have happened"})
	}
	fmt.Fprintln(w, "\nyou may answer, once you have looked at the provider")
	for _, a := range answers {
		fmt.Fprintf(w, "  %s\n    onceward review resolve %s --attempt %d %s\n    %s\n", a.when, o.ID, o.Attempts, a.flags, a.then)
	}
	fmt.Fprintf(w, "--attempt %d: if another attempt was made since, nothing is settled, and you look again.\n", o.Attempts)
}

func newReviewList() *cobra.Command {
	var tool string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List what waits for a person", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"state": {"needs_review"}, "limit": {strconv.Itoa(limit)}}
			if tool != "" {
				q.Set("tool", tool)
			}
			return listOperations(c, q)
		},
	}
	c.Flags().StringVar(&tool, "tool", "", "only this tool")
	c.Flags().IntVar(&limit, "limit", 50, "how many at the most")
	return c
}

func newReviewResolve() *cobra.Command {
	var outcome, then, reference, reason string
	var attempt int
	c := &cobra.Command{
		Use:   "resolve ID --outcome succeeded|not_performed|abandoned",
		Short: "Say what you found out at the provider",
		Long: "succeeded needs the provider's reference. not_performed needs a reason and says what follows:\n" +
			"--then retry tries again under the same key, --then fail ends it. abandoned needs a reason.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			body := map[string]any{"outcome": outcome}
			for name, v := range map[string]string{"then": then, "reference": reference, "reason": reason} {
				if v != "" {
					body[name] = v
				}
			}
			if c.Flags().Changed("attempt") {
				body["attempt"] = attempt
			}
			return post(c, args[0], "resolve", body)
		},
	}
	f := c.Flags()
	f.StringVar(&outcome, "outcome", "", "succeeded, not_performed or abandoned")
	f.StringVar(&then, "then", "", "after not_performed: retry or fail")
	f.StringVar(&reference, "reference", "", "the provider's reference of the effect")
	f.StringVar(&reason, "reason", "", "how you know")
	f.IntVar(&attempt, "attempt", 0, "the newest attempt that you saw, as review show says: after another one nothing is settled")
	return c
}
