package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/httpapi"
)

func newOutbox() *cobra.Command {
	c := &cobra.Command{Use: "outbox", Short: "See how far events are handed on, and settle those that were not taken"}
	ask := []*cobra.Command{newOutboxSinks(), newOutboxList(), newOutboxRedrive()}
	for _, a := range ask {
		serverFlag(a)
	}
	c.AddCommand(append(ask, newOutboxForget())...)
	return c
}

func newOutboxSinks() *cobra.Command {
	return &cobra.Command{
		Use: "sinks", Short: "List the sinks, and how far each is", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var all httpapi.OutboxSinkList
			if done, err := ask(c, "GET", "/v1/outbox/sinks", nil, &all); err != nil || done {
				return err
			}
			w := newTable(c.OutOrStdout(), "SINK", "BEHIND", "LAG", "WAITING", "DEAD", "OWNER")
			for _, v := range all.Sinks {
				fmt.Fprintf(w, "%s\t%d\t%.1fs\t%d\t%d\t%s\n", v.Sink, v.BehindEvents, v.LagSeconds, v.WaitingEvents, v.DeadEvents, v.Owner)
			}
			return w.Flush()
		},
	}
}

// asideState is how the event waits, in a word.
func asideState(v *httpapi.OutboxEvent) string {
	switch {
	case v.Dead:
		return "dead"
	case !v.DueAt.IsZero():
		return "waiting"
	}
	return "behind"
}

func newOutboxList() *cobra.Command {
	var sink, after string
	var dead bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List the events that a sink did not take, and those that wait behind them", Args: cobra.NoArgs,
		Example: "  onceward outbox list --dead\n  onceward outbox list --sink billing",
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			if sink != "" {
				q.Set("sink", sink)
			}
			if after != "" {
				q.Set("after", after)
			}
			if dead {
				q.Set("dead", "true")
			}
			var page httpapi.OutboxEventPage
			if done, err := ask(c, "GET", "/v1/outbox/events?"+q.Encode(), nil, &page); err != nil || done {
				return err
			}
			w := newTable(c.OutOrStdout(), "SINK", "EVENT", "TYPE", "KEY", "TRIES", "STATE", "REASON")
			for i := range page.Events {
				v := &page.Events[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", v.Sink, visible(v.Event), visible(v.Type), visible(v.Key), v.Tries, asideState(v), visible(v.Message))
			}
			return endPage(c, w, page.Next)
		},
	}
	f := c.Flags()
	f.StringVar(&sink, "sink", "", "of this sink only")
	f.BoolVar(&dead, "dead", false, "only what is not offered again by itself")
	f.StringVar(&after, "after", "", "go on after this cursor")
	f.IntVar(&limit, "limit", 50, "how many at the most")
	return c
}

func newOutboxRedrive() *cobra.Command {
	var reason string
	var drop bool
	c := &cobra.Command{
		Use: "redrive SINK EVENT --reason WHY", Short: "Offer a dead event again, or with --drop give it up", Args: cobra.ExactArgs(2),
		Long: "The events that wait behind it go on once it is taken or given up.",
		RunE: func(c *cobra.Command, args []string) error {
			path, words := "/v1/outbox/redrive", "is offered again"
			if drop {
				path, words = "/v1/outbox/drop", "is given up"
			}
			var answer struct{}
			if done, err := ask(c, "POST", path, map[string]any{"sink": args[0], "event": args[1], "reason": reason}, &answer); err != nil || done {
				return err
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s %s at %s\n", visible(args[1]), words, args[0])
			return err
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for whoever reads it later")
	c.Flags().BoolVar(&drop, "drop", false, "do not offer it again")
	return c
}

func newOutboxForget() *cobra.Command {
	c := &cobra.Command{
		Use: "forget SINK", Short: "Forget a sink that the configuration does not name any more", Args: cobra.ExactArgs(1),
		Long: "Events are kept until every sink that was ever configured has them. A sink that is configured again begins\nwith the first event that is kept. This opens the ledger's database itself, beside the running server.",
		RunE: func(c *cobra.Command, args []string) error {
			return onStore(c, func(ctx context.Context, s onceward.Store) error {
				there, err := s.ForgetSink(ctx, args[0])
				if err != nil {
					return err
				}
				if !there {
					return &onceward.Error{Code: onceward.CodeInvalidRequest, Op: "forget sink", Message: "there is no sink " + args[0], Hint: "onceward outbox sinks lists them"}
				}
				if wantsJSON(c) {
					return writeJSON(c, map[string]any{"forgotten": args[0]})
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s is forgotten\n", args[0])
				return err
			})
		},
	}
	dbFlag(c)
	return c
}
