package main

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/internal/httpapi"
)

func newEvent() *cobra.Command {
	c := &cobra.Command{Use: "event", Short: "List, show, drive again and dismiss events that senders delivered"}
	serverFlag(c)
	c.AddCommand(newEventList(), newEventShow(), newEventDecide("redrive", "Handle an event anew; what it had already is not done again"),
		newEventDecide("dismiss", "Say that nothing is to be done for an event that waits for a person"))
	return c
}

func newEventList() *cobra.Command {
	var source, state, after string
	var waiting bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List events, newest first", Args: cobra.NoArgs,
		Example: "  onceward event list --waiting\n  onceward event list --source shop --state handled",
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, v := range map[string]string{"source": source, "state": state, "after": after} {
				if v != "" {
					q.Set(name, v)
				}
			}
			if waiting {
				q.Set("waiting", "true")
			}
			return listEvents(c, q)
		},
	}
	f := c.Flags()
	f.StringVar(&source, "source", "", "only of this source")
	f.StringVar(&state, "state", "", "only in this state: received, handled, ignored, unmapped, failed, late or dismissed")
	f.BoolVar(&waiting, "waiting", false, "only what waits for a person")
	f.StringVar(&after, "after", "", "go on after this cursor")
	f.IntVar(&limit, "limit", 50, "how many at the most")
	return c
}

func listEvents(c *cobra.Command, q url.Values) error {
	var page httpapi.InboxEventPage
	if done, err := ask(c, "GET", "/v1/events?"+q.Encode(), nil, &page); err != nil || done {
		return err
	}
	return printEvents(c, page.Events, page.Next)
}

// printEvents prints a page of events.
func printEvents(c *cobra.Command, events []httpapi.InboxEvent, next string) error {
	w := newTable(c.OutOrStdout(), "EVENT", "SOURCE", "STATE", "RECEIVED", "KEY", "WHY")
	for i := range events {
		e := &events[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Source, e.State, e.ReceivedAt.Local().Format(time.DateTime), visible(e.Key), visible(e.Message))
	}
	return endPage(c, w, next)
}

func newEventShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show one event with its payload", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return showEvent(c, "GET", "/v1/events/"+escape(args[0]), nil)
		},
	}
}

func newEventDecide(verb, short string) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: verb + " ID --reason WHY", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return showEvent(c, "POST", "/v1/events/"+escape(args[0])+"/"+verb, map[string]any{"reason": reason})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for whoever reads it later")
	return c
}

func showEvent(c *cobra.Command, method, path string, body any) error {
	var found httpapi.InboxEventAnswer
	if done, err := ask(c, method, path, body, &found); err != nil || done {
		return err
	}
	printInboxEvent(c.OutOrStdout(), &found.Event)
	return nil
}

func printInboxEvent(w io.Writer, e *httpapi.InboxEvent) {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Local().Format(time.DateTime)
	}
	why := e.Message
	if e.Code != "" {
		why = e.Code + ": " + why
	}
	for _, row := range [][2]string{
		{"event", e.ID}, {"source", e.Source + " " + e.Version}, {"key", e.Key}, {"state", e.State}, {"why", why},
		{"happened", at(e.SentAt)}, {"received", at(e.ReceivedAt)}, {"handled", at(e.HandledAt)}, {"due", at(e.DueAt)}, {"tries", strconv.Itoa(e.Tries)},
		{"by", e.Actor}, {"reason", e.Reason}, {"run", e.Run},
	} {
		printLine(w, row[0], row[1])
	}
	for _, id := range e.Operations {
		printLine(w, "operation", id)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		printLine(w, "header", name+": "+e.Headers[name])
	}
	printLine(w, "body", string(e.Body))
}
