package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
)

// operationView is what the commands read of an operation.
type operationView struct {
	ID              string        `json:"id"`
	Tool            string        `json:"tool"`
	Key             string        `json:"key"`
	State           string        `json:"state"`
	Attempts        int           `json:"attempts"`
	OpenAttempts    int           `json:"open_attempts"`
	Reference       string        `json:"reference"`
	CancelRequested bool          `json:"cancel_requested"`
	Parked          string        `json:"parked"`
	Retired         bool          `json:"retired"`
	CreatedAt       time.Time     `json:"created_at"`
	DueAt           *time.Time    `json:"due_at"`
	ReviewReason    string        `json:"review_reason"`
	Error           *failureView  `json:"error"`
	Result          *resultView   `json:"result"`
	AttemptList     []attemptView `json:"attempt_list"`
	Events          []eventView   `json:"events"`
}

type failureView struct {
	Class, Code, Message, Advice string
}

type resultView struct {
	Status   int             `json:"status"`
	Body     json.RawMessage `json:"body"`
	BodyKept bool            `json:"body_kept"`
}

type attemptView struct {
	Number    int       `json:"number"`
	Status    string    `json:"status"`
	Reach     string    `json:"reach"`
	StartedAt time.Time `json:"started_at"`
	SettledBy string    `json:"settled_by"`
}

type eventView struct {
	At        time.Time `json:"at"`
	Event     string    `json:"event"`
	From      string    `json:"from"`
	To        string    `json:"to"`
	Attempt   int       `json:"attempt"`
	Actor     string    `json:"actor"`
	Reason    string    `json:"reason"`
	Reference string    `json:"reference"`
}

type answerView struct {
	Operation operationView `json:"operation"`
	Decision  string        `json:"decision"`
}

func newOperation() *cobra.Command {
	c := &cobra.Command{Use: "op", Short: "List, show, watch, cancel and fork operations"}
	serverFlag(c)
	c.AddCommand(newOperationList(), newOperationShow(), newOperationWatch(), newOperationCancel(), newOperationReconcile(), newOperationFork())
	return c
}

// showAnswer prints an operation and exits by its state.
func showAnswer(c *cobra.Command, rep *reply) error {
	var a answerView
	if err := json.Unmarshal(rep.body, &a); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if wantsJSON(c) {
		if err := printJSON(c.OutOrStdout(), rep.body); err != nil {
			return err
		}
	} else {
		printOperation(c.OutOrStdout(), a)
	}
	if code := stateExit(a.Operation.State); code != exitDone {
		return &exitError{code: code, said: true}
	}
	return nil
}

// stateExit is the exit code that tells an operation's state.
func stateExit(state string) int {
	s, err := onceward.ParseState(state)
	if err != nil {
		return exitOther
	}
	switch s {
	case onceward.StateSucceeded, onceward.StateCompensated:
		return exitDone
	case onceward.StateFailed, onceward.StateCancelled, onceward.StateAbandoned:
		return exitFailed
	case onceward.StateAwaitingApproval, onceward.StateReady, onceward.StateEffectPending, onceward.StateOutcomeUnknown, onceward.StateNeedsReview:
		return exitNotFinal
	}
	return exitOther
}

func printOperation(w io.Writer, a answerView) {
	o := a.Operation
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-12s %s\n", name, value)
		}
	}
	line("operation", o.ID)
	line("tool", o.Tool)
	line("key", o.Key)
	line("state", o.State)
	line("decision", a.Decision)
	line("reference", o.Reference)
	attempts := strconv.Itoa(o.Attempts)
	if o.OpenAttempts > 0 {
		attempts += fmt.Sprintf(" (%d may have had their effect)", o.OpenAttempts)
	}
	line("attempts", attempts)
	line("parked", o.Parked)
	if o.Retired {
		line("retired", "yes: only the tombstone is left")
	}
	if o.CancelRequested {
		line("cancel", "requested")
	}
	line("review", o.ReviewReason)
	if o.DueAt != nil {
		line("due", o.DueAt.Local().Format(time.DateTime))
	}
	if o.Result != nil {
		line("result", fmt.Sprintf("%d %s", o.Result.Status, o.Result.Body))
	}
	if o.Error != nil {
		line("error", strings.TrimSpace(o.Error.Class+" "+o.Error.Code+" "+o.Error.Message))
		line("advice", o.Error.Advice)
	}
	for _, at := range o.AttemptList {
		line(fmt.Sprintf("  attempt %d", at.Number), strings.TrimSpace(fmt.Sprintf("%s %s, %s %s", at.StartedAt.Local().Format(time.DateTime), at.Status, at.Reach, at.SettledBy)))
	}
	for _, e := range o.Events {
		line("  "+e.At.Local().Format("15:04:05"), strings.Join(strings.Fields(fmt.Sprintf("%s %s -> %s %s %s %s", e.Event, e.From, e.To, e.Reference, e.Reason, e.Actor)), " "))
	}
}

func newOperationList() *cobra.Command {
	var tool, key, run, correlation, after string
	var states []string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List operations, newest first", Args: cobra.NoArgs,
		Example: "  onceward op list --state needs_review,failed",
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{}
			for name, v := range map[string]string{"tool": tool, "key": key, "run": run, "correlation_id": correlation, "after": after, "state": strings.Join(states, ",")} {
				if v != "" {
					q.Set(name, v)
				}
			}
			q.Set("limit", strconv.Itoa(limit))
			return listOperations(c, q)
		},
	}
	f := c.Flags()
	f.StringVar(&tool, "tool", "", "only this tool")
	f.StringVar(&key, "key", "", "only this key (with --tool)")
	f.StringVar(&run, "run", "", "only this run")
	f.StringVar(&correlation, "correlation-id", "", "only this business event")
	f.StringSliceVar(&states, "state", nil, "only these states")
	f.StringVar(&after, "after", "", "go on after this cursor")
	f.IntVar(&limit, "limit", 50, "how many at the most")
	return c
}

func listOperations(c *cobra.Command, q url.Values) error {
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	rep, err := cl.do(c.Context(), "GET", "/v1/operations?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	if wantsJSON(c) {
		return printJSON(c.OutOrStdout(), rep.body)
	}
	var page struct {
		Operations []operationView `json:"operations"`
		Next       string          `json:"next"`
	}
	if err := json.Unmarshal(rep.body, &page); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "OPERATION\tTOOL\tSTATE\tATTEMPTS\tREFERENCE\tCREATED\tKEY")
	for _, o := range page.Operations {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", o.ID, o.Tool, o.State, o.Attempts, o.Reference, o.CreatedAt.Local().Format(time.DateTime), o.Key)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if page.Next != "" {
		fmt.Fprintf(c.OutOrStdout(), "more: --after %s\n", page.Next)
	}
	return nil
}

func newOperationShow() *cobra.Command {
	var wait string
	c := &cobra.Command{
		Use: "show ID", Short: "Show one operation with its attempts, evidence and events", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			path := "/v1/operations/" + escape(args[0])
			if wait != "" {
				path += "?wait=" + url.QueryEscape(wait)
			}
			rep, err := cl.do(c.Context(), "GET", path, nil)
			if err != nil {
				return err
			}
			return showAnswer(c, rep)
		},
	}
	c.Flags().StringVar(&wait, "wait", "", "wait for the end, at most 60s")
	return c
}

func newOperationWatch() *cobra.Command {
	return &cobra.Command{
		Use: "watch ID", Short: "Follow one operation until its end", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			return watch(c.Context(), c, cl, args[0])
		},
	}
}

// watch prints each state once, and the end as show does.
func watch(ctx context.Context, c *cobra.Command, cl *client, id string) error {
	last := ""
	for {
		rep, err := cl.do(ctx, "GET", "/v1/operations/"+escape(id)+"?wait=5s", nil)
		if err != nil {
			return err
		}
		var a answerView
		if err := json.Unmarshal(rep.body, &a); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		s, err := onceward.ParseState(a.Operation.State)
		if err != nil {
			return err
		}
		if s.Terminal() || s == onceward.StateNeedsReview || s == onceward.StateAwaitingApproval {
			return showAnswer(c, rep)
		}
		if a.Operation.State != last {
			last = a.Operation.State
			fmt.Fprintf(c.ErrOrStderr(), "%s %s, attempt %d\n", time.Now().Format("15:04:05"), last, a.Operation.Attempts)
		}
		select { // what is parked is answered at once
		case <-time.After(watchRest):
		case <-ctx.Done():
			return &onceward.Error{Code: onceward.CodeCanceled, Message: "stopped watching"}
		}
	}
}

// watchRest is the pause between two looks at an operation.
const watchRest = time.Second

// post makes a command that posts to an operation and shows it.
func post(c *cobra.Command, id, action string, body any) error {
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	rep, err := cl.do(c.Context(), "POST", "/v1/operations/"+escape(id)+"/"+action, body)
	if err != nil {
		return err
	}
	var a answerView
	if err := json.Unmarshal(rep.body, &a); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if wantsJSON(c) {
		return printJSON(c.OutOrStdout(), rep.body)
	}
	printOperation(c.OutOrStdout(), a)
	return nil
}

func newOperationCancel() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "cancel ID", Short: "Ask that an operation does not happen", Args: cobra.ExactArgs(1),
		Long: "Where something may have been sent already, the operation is reported as unknown until that is settled.",
		RunE: func(c *cobra.Command, args []string) error {
			return post(c, args[0], "cancel", map[string]any{"reason": reason})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why")
	return c
}

func newOperationReconcile() *cobra.Command {
	return &cobra.Command{
		Use: "reconcile ID", Short: "Look an operation's effect up at the provider now", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return post(c, args[0], "reconcile", map[string]any{}) },
	}
}

func newOperationFork() *cobra.Command {
	var key, reason, input string
	c := &cobra.Command{
		Use: "fork ID --key KEY --reason WHY", Short: "Start a wanted second effect under its own key", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			body := map[string]any{"key": key, "reason": reason}
			if input != "" {
				data, err := readInput(c, input)
				if err != nil {
					return err
				}
				body["input"] = data
			}
			return post(c, args[0], "fork", body)
		},
	}
	c.Flags().StringVar(&key, "key", "", "key of the second intention")
	c.Flags().StringVar(&reason, "reason", "", "why it is wanted a second time")
	c.Flags().StringVar(&input, "input", "", "the input, where the first one is not kept: JSON, @FILE or - for standard input")
	return c
}
