package main

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/internal/httpapi"
)

func newReview() *cobra.Command {
	c := &cobra.Command{Use: "review", Short: "Settle what only a person can settle"}
	serverFlag(c)
	c.AddCommand(newReviewList(), newReviewShow(), newReviewTake(), newReviewAssign(), newReviewComment(), newReviewResolve())
	return c
}

// reviewView is a review as the server shows it.
type reviewView struct {
	Operation      operationView `json:"operation"`
	Owner          string        `json:"owner"`
	Team           string        `json:"team"`
	Due            *time.Time    `json:"due"`
	Overdue        bool          `json:"overdue"`
	BusinessOwner  string        `json:"business_owner"`
	TechnicalOwner string        `json:"technical_owner"`
	HasProbe       bool          `json:"has_probe"`
	BlindSpots     string        `json:"blind_spots"`
	Answers        []struct {
		When, Outcome, Then, Needs, Consequence string
		Attempt                                 int
	} `json:"answers"`
}

// due is by when it has to be settled, in words.
func (v *reviewView) due() string {
	switch {
	case v.Due == nil:
		return ""
	case v.Overdue:
		return v.Due.Local().Format(time.DateTime) + ", overdue"
	}
	return v.Due.Local().Format(time.DateTime)
}

func newReviewShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show what was sent, what came back, what look-ups saw, and what you may answer", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var found struct {
				Review reviewView `json:"review"`
			}
			done, err := ask(c, "GET", "/v1/operations/"+escape(args[0])+"/review", nil, &found)
			if err != nil && !done {
				return err
			}
			if !done {
				found.Review.print(c.OutOrStdout())
			}
			if code := stateExit(found.Review.Operation.State); err == nil && code != exitDone {
				return &exitError{code: code, said: true}
			}
			return err
		},
	}
}

// print prints what a person needs to answer: what was sent and seen, what a
// look-up cannot see, who can be asked, and the answers with what follows.
func (v *reviewView) print(w io.Writer) {
	printOperation(w, answerView{Operation: v.Operation})
	printStory(w, &v.Operation)
	fmt.Fprintln(w)
	if len(v.Answers) == 0 {
		fmt.Fprintf(w, "No answer is asked for: it is %s.\n", v.Operation.State)
		return
	}
	printLine(w, "taken by", v.Owner)
	printLine(w, "team", v.Team)
	printLine(w, "due", v.due())
	printLine(w, "look-up", map[bool]string{true: "the contract has one; onceward op reconcile " + v.Operation.ID + " makes it now", false: "the contract has none: look at the provider yourself"}[v.HasProbe])
	printLine(w, "blind spots", v.BlindSpots)
	printLine(w, "owners", ownersOf(v.BusinessOwner, v.TechnicalOwner))
	printLine(w, "sent key", v.Operation.ProviderKey) // what the provider may know it by
	v.printAnswers(w)
}

// printAnswers prints the answers that the operation lets in, as commands.
func (v *reviewView) printAnswers(w io.Writer) {
	fmt.Fprintln(w, "\nyou may answer, once you have looked at the provider")
	for _, a := range v.Answers {
		flags := "--outcome " + a.Outcome
		if a.Then != "" {
			flags += " --then " + a.Then
		}
		flags += map[string]string{"reference": " --reference REFERENCE", "reason": " --reason WHY"}[a.Needs]
		fmt.Fprintf(w, "  %s\n    onceward review resolve %s --attempt %d %s\n    %s\n", a.When, v.Operation.ID, a.Attempt, flags, a.Consequence)
	}
	fmt.Fprintf(w, "--attempt %d: if another attempt was made since, nothing is settled, and you look again.\n", v.Operation.Attempts)
}

func newReviewList() *cobra.Command {
	var tool, team, after string
	var mine, overdue bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List what waits for a person: by deadline, what is overdue first", Args: cobra.NoArgs,
		Example: "  onceward review list --mine\n  onceward review list --team support-leads --overdue",
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, v := range map[string]string{"tool": tool, "team": team, "after": after} {
				if v != "" {
					q.Set(name, v)
				}
			}
			for name, v := range map[string]bool{"mine": mine, "overdue": overdue} {
				if v {
					q.Set(name, "true")
				}
			}
			return listReviews(c, q)
		},
	}
	f := c.Flags()
	f.StringVar(&tool, "tool", "", "only this tool")
	f.BoolVar(&mine, "mine", false, "only what you have taken, or were given by name")
	f.StringVar(&team, "team", "", "only what this team is asked for")
	f.BoolVar(&overdue, "overdue", false, "only what is overdue")
	f.StringVar(&after, "after", "", "go on after this cursor")
	f.IntVar(&limit, "limit", 50, "how many at the most")
	return c
}

func listReviews(c *cobra.Command, q url.Values) error {
	var page struct {
		Reviews []reviewView         `json:"reviews"`
		Events  []httpapi.InboxEvent `json:"events"`
		Next    string               `json:"next"`
	}
	if done, err := ask(c, "GET", "/v1/reviews?"+q.Encode(), nil, &page); err != nil || done {
		return err
	}
	w := newTable(c.OutOrStdout(), "OPERATION", "TOOL", "STATE", "DUE", "TEAM", "TAKEN BY", "WHY")
	for i := range page.Reviews {
		v := &page.Reviews[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.Operation.ID, v.Operation.Tool, v.Operation.State, v.due(), visible(v.Team), visible(v.Owner), visible(v.Operation.ReviewReason))
	}
	if err := endPage(c, w, page.Next); err != nil || len(page.Events) == 0 {
		return err
	}
	fmt.Fprintln(c.OutOrStdout(), "\nevents of senders: onceward event redrive, or dismiss")
	return printEvents(c, page.Events, "")
}

func newReviewTake() *cobra.Command {
	return &cobra.Command{
		Use: "take ID", Short: "Say that you settle it; who has it already keeps it", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return post(c, args[0], "take", map[string]any{}) },
	}
}

func newReviewAssign() *cobra.Command {
	c := newAssign("TEAM", "Hand a review over, or set another deadline")
	c.Example = "  onceward review assign op_… --team support-leads --reason 'needs the customer'\n  onceward review assign op_… --to token:ann --due 2026-01-31T17:00:00Z --reason 'she knows the clerk'"
	return c
}

// newAssign makes a command that hands over whose turn it is with an operation.
func newAssign(team, short string) *cobra.Command {
	var words struct{ to, team, due, reason string }
	c := &cobra.Command{
		Use: "assign ID --to PRINCIPAL|--team " + team + " --reason WHY", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			body := map[string]any{"reason": words.reason}
			for name, v := range map[string]string{"to": words.to, "team": words.team, "due": words.due} {
				if v != "" {
					body[name] = v
				}
			}
			return post(c, args[0], "assign", body)
		},
	}
	f := c.Flags()
	f.StringVar(&words.to, "to", "", "a principal, as issuer:subject")
	f.StringVar(&words.team, "team", "", "a group of people")
	f.StringVar(&words.due, "due", "", "by when, as in 2026-11-29T17:00:00Z; as it is if absent")
	f.StringVar(&words.reason, "reason", "", "why it is somebody else's turn")
	return c
}

func newReviewComment() *cobra.Command {
	return &cobra.Command{
		Use: "comment ID TEXT", Short: "Add to the timeline what the next one has to know", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return post(c, args[0], "comment", map[string]any{"text": args[1]})
		},
	}
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
