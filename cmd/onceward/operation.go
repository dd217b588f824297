package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
)

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
		printStory(c.OutOrStdout(), &a.Operation)
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

func newOperationList() *cobra.Command {
	var tool, key, run, correlation, after string
	var dead bool
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
			if dead {
				q.Set("dead", "true")
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
	f.BoolVar(&dead, "dead", false, "only dead letters: in review, failed or abandoned")
	f.StringVar(&after, "after", "", "go on after this cursor")
	f.IntVar(&limit, "limit", 50, "how many at the most")
	return c
}

func listOperations(c *cobra.Command, q url.Values) error {
	var page struct {
		Operations []operationView `json:"operations"`
		Next       string          `json:"next"`
	}
	if done, err := ask(c, "GET", "/v1/operations?"+q.Encode(), nil, &page); err != nil || done {
		return err
	}
	w := newTable(c.OutOrStdout(), "OPERATION", "TOOL", "STATE", "ATTEMPTS", "REFERENCE", "CREATED", "KEY")
	for _, o := range page.Operations {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", o.ID, o.Tool, o.State, o.Attempts, visible(o.Reference), o.CreatedAt.Local().Format(time.DateTime), visible(o.Key))
	}
	return endPage(c, w, page.Next)
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
			rep, err := cl.operation(c.Context(), args[0], wait)
			if err != nil {
				return err
			}
			return showAnswer(c, rep)
		},
	}
	c.Flags().StringVar(&wait, "wait", "", "wait for the end, at most 60s")
	return c
}

// operation reads one operation, at its end if wait is given.
func (cl *client) operation(ctx context.Context, id, wait string) (*reply, error) {
	path := "/v1/operations/" + escape(id)
	if wait != "" {
		path += "?wait=" + url.QueryEscape(wait)
	}
	return cl.do(ctx, "GET", path, nil)
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
		rep, err := cl.operation(ctx, id, "5s")
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
	var a answerView
	if done, err := ask(c, "POST", "/v1/operations/"+escape(id)+"/"+action, body, &a); err != nil || done {
		return err
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
