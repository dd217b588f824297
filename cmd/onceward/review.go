package main

import (
	"net/url"
	"strconv"

	"github.com/spf13/cobra"
)

func newReview() *cobra.Command {
	c := &cobra.Command{Use: "review", Short: "Settle what only a person can settle"}
	serverFlag(c)
	show := newOperationShow()
	show.Short = "Show what is known of one: what was sent, what came back, what the look-up saw"
	c.AddCommand(newReviewList(), show, newReviewResolve())
	return c
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
			return post(c, args[0], "resolve", body)
		},
	}
	f := c.Flags()
	f.StringVar(&outcome, "outcome", "", "succeeded, not_performed or abandoned")
	f.StringVar(&then, "then", "", "after not_performed: retry or fail")
	f.StringVar(&reference, "reference", "", "the provider's reference of the effect")
	f.StringVar(&reason, "reason", "", "how you know")
	return c
}
