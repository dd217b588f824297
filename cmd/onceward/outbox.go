package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
)

func newOutbox() *cobra.Command {
	c := &cobra.Command{
		Use: "outbox", Short: "See how far events are handed on, and settle those that were not taken", Args: cobra.NoArgs,
		Long: "These commands open the ledger's database itself (--db), beside the running server.",
	}
	c.PersistentFlags().String("db", defaultDB, "ledger: sqlite:PATH, a path, or postgres://… (ONCEWARD_DB)")
	c.AddCommand(newOutboxSinks(), newOutboxList(), newOutboxRedrive(), newOutboxForget())
	return c
}

// onStore runs work on the ledger's store.
func onStore(c *cobra.Command, work func(ctx context.Context, s onceward.Store) error) error {
	cfg, err := loadConfig(c)
	if err != nil {
		return err
	}
	s, err := openStore(c.Context(), cfg.DB, false)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return work(c.Context(), s)
}

type sinkView struct {
	Sink          string  `json:"sink"`
	BehindEvents  int64   `json:"behind_events"`
	LagSeconds    float64 `json:"lag_seconds"`
	WaitingEvents int     `json:"waiting_events"`
	DeadEvents    int     `json:"dead_events"`
	Owner         string  `json:"owner"`
}

func newOutboxSinks() *cobra.Command {
	return &cobra.Command{
		Use: "sinks", Short: "List the sinks, and how far each is", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return onStore(c, func(ctx context.Context, s onceward.Store) error {
				all, err := s.Sinks(ctx)
				if err != nil {
					return err
				}
				now, err := s.Now(ctx)
				if err != nil {
					return err
				}
				views := []sinkView{}
				for _, k := range all {
					v := sinkView{Sink: k.Name, BehindEvents: k.Behind, WaitingEvents: k.Aside - k.Dead, DeadEvents: k.Dead, Owner: k.Owner}
					if !k.OldestAt.IsZero() {
						v.LagSeconds = max(0, now.Sub(k.OldestAt).Seconds())
					}
					views = append(views, v)
				}
				if wantsJSON(c) {
					return writeJSON(c, map[string]any{"sinks": views})
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "SINK\tBEHIND\tLAG\tWAITING\tDEAD\tOWNER")
				for _, v := range views {
					fmt.Fprintf(w, "%s\t%d\t%.1fs\t%d\t%d\t%s\n", v.Sink, v.BehindEvents, v.LagSeconds, v.WaitingEvents, v.DeadEvents, v.Owner)
				}
				return w.Flush()
			})
		},
	}
}

type asideView struct {
	Sink    string     `json:"sink"`
	Event   string     `json:"event"`
	Type    string     `json:"type"`
	Key     string     `json:"key"`
	Tries   int        `json:"tries"`
	Dead    bool       `json:"dead"`
	DueAt   *time.Time `json:"due_at,omitempty"`
	Since   time.Time  `json:"since"`
	Message string     `json:"message"`
}

func newOutboxList() *cobra.Command {
	var sink, tenant string
	c := &cobra.Command{
		Use: "list", Short: "List the events that a sink did not take, and those that wait behind them", Args: cobra.NoArgs,
		Long: "At most 500 are listed, the longest waiting first.",
		RunE: func(c *cobra.Command, _ []string) error {
			return onStore(c, func(ctx context.Context, s onceward.Store) error {
				all, err := s.ListAside(ctx, onceward.Tenant(tenant), sink, onceward.OutboxPlace{}, onceward.MaxPage)
				if err != nil {
					return err
				}
				views := []asideView{}
				for _, a := range all {
					v := asideView{Sink: a.Sink, Event: a.Event.ID, Type: a.Event.Type, Key: a.Event.Key, Tries: a.Tries, Dead: a.Dead, Since: a.Since, Message: a.Message}
					if !a.DueAt.IsZero() {
						v.DueAt = &a.DueAt
					}
					views = append(views, v)
				}
				if wantsJSON(c) {
					return writeJSON(c, map[string]any{"events": views})
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "SINK\tEVENT\tTYPE\tKEY\tTRIES\tSTATE\tREASON")
				for _, v := range views {
					state := "behind"
					switch {
					case v.Dead:
						state = "dead"
					case v.DueAt != nil:
						state = "waiting"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", v.Sink, v.Event, v.Type, v.Key, v.Tries, state, v.Message)
				}
				return w.Flush()
			})
		},
	}
	c.Flags().StringVar(&sink, "sink", "", "of this sink only")
	c.Flags().StringVar(&tenant, "tenant", string(onceward.DefaultTenant), "whose events")
	return c
}

func newOutboxRedrive() *cobra.Command {
	var tenant string
	var drop bool
	c := &cobra.Command{
		Use: "redrive SINK EVENT", Short: "Offer a dead event again, or with --drop give it up", Args: cobra.ExactArgs(2),
		Long: "The events that wait behind it go on once it is taken or given up.",
		RunE: func(c *cobra.Command, args []string) error {
			return onStore(c, func(ctx context.Context, s onceward.Store) error {
				done, err := s.Redrive(ctx, onceward.Tenant(tenant), args[0], args[1], drop)
				if err != nil {
					return err
				}
				if !done {
					return &onceward.Error{Code: onceward.CodeInvalidRequest, Op: "drive event again", Message: "no such event is dead at that sink", Hint: "onceward outbox list names those that are"}
				}
				if wantsJSON(c) {
					return writeJSON(c, map[string]any{"sink": args[0], "event": args[1], "dropped": drop})
				}
				words := "is offered again"
				if drop {
					words = "is given up"
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s %s at %s\n", args[1], words, args[0])
				return err
			})
		},
	}
	c.Flags().StringVar(&tenant, "tenant", string(onceward.DefaultTenant), "whose event")
	c.Flags().BoolVar(&drop, "drop", false, "do not offer it again")
	return c
}

func newOutboxForget() *cobra.Command {
	return &cobra.Command{
		Use: "forget SINK", Short: "Forget a sink that the configuration does not name any more", Args: cobra.ExactArgs(1),
		Long: "Events are kept until every sink that was ever configured has them. A sink that is configured again begins\nwith the first event that is kept.",
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
}
