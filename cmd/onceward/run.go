package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// runView is what the commands read of a run.
type runView struct {
	ID            string          `json:"id"`
	Workflow      string          `json:"workflow"`
	Version       string          `json:"version"`
	RuleVersion   string          `json:"rule_version"`
	TriggerKey    string          `json:"trigger_key"`
	Input         json.RawMessage `json:"input"`
	CorrelationID string          `json:"correlation_id"`
	State         string          `json:"state"`
	Outcome       string          `json:"outcome"`
	Reason        string          `json:"reason"`
	FinishedBy    string          `json:"finished_by"`
	Actor         string          `json:"actor"`
	SubjectID     string          `json:"subject_id"`
	Shredded      bool            `json:"shredded"`
	CreatedAt     time.Time       `json:"created_at"`
}

func newRun() *cobra.Command {
	c := &cobra.Command{Use: "run", Short: "Start, show, list and finish runs: business events being handled"}
	serverFlag(c)
	c.AddCommand(newRunStart(), newRunShow(), newRunList(), newRunFinish())
	return c
}

func newRunStart() *cobra.Command {
	var version, trigger, input, correlation, onDuplicate, subject string
	c := &cobra.Command{
		Use: "start WORKFLOW --trigger KEY", Short: "Start a run once for each trigger key, or show the one that is there", Args: cobra.ExactArgs(1),
		Example: `  onceward run start inbox.triage --trigger mail-4711 --input @mail.json`,
		RunE: func(c *cobra.Command, args []string) error {
			body := map[string]any{"workflow": args[0], "trigger_key": trigger}
			for name, v := range map[string]string{"version": version, "correlation_id": correlation, "on_duplicate": onDuplicate, "subject": subject} {
				if v != "" {
					body[name] = v
				}
			}
			if input != "" {
				data, err := readInput(c, input)
				if err != nil {
					return err
				}
				body["input"] = data
			}
			return showRun(c, "POST", "/v1/runs", body)
		},
	}
	f := c.Flags()
	f.StringVar(&trigger, "trigger", "", "names the business event")
	f.StringVar(&version, "version", "", "the workflow's version (default the one in force)")
	f.StringVar(&input, "input", "", "what the event says: JSON, @FILE or - for standard input")
	f.StringVar(&correlation, "correlation-id", "", "follows the event through all services")
	f.StringVar(&subject, "subject", "", "whose data the input is, to be shredded with it")
	f.StringVar(&onDuplicate, "on-duplicate", "", "return (default), fail or fail_if_running")
	return c
}

func newRunFinish() *cobra.Command {
	var outcome, reason string
	c := &cobra.Command{
		Use: "finish ID --outcome succeeded|failed|cancelled", Short: "End a run: nothing new joins it", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			body := map[string]any{"outcome": outcome}
			if reason != "" {
				body["reason"] = reason
			}
			return showRun(c, "POST", "/v1/runs/"+escape(args[0])+"/finish", body)
		},
	}
	c.Flags().StringVar(&outcome, "outcome", "succeeded", "succeeded, failed or cancelled")
	c.Flags().StringVar(&reason, "reason", "", "why it ended so")
	return c
}

// showRun sends a request and prints the run that it answers with.
func showRun(c *cobra.Command, method, path string, body any) error {
	var a struct {
		Run      runView `json:"run"`
		Decision string  `json:"decision"`
		Advice   string  `json:"advice"`
	}
	done, err := ask(c, method, path, body, &a)
	if err != nil || done {
		return err
	}
	printRun(c.OutOrStdout(), &a.Run)
	printLine(c.OutOrStdout(), "decision", a.Decision)
	printLine(c.OutOrStdout(), "advice", a.Advice)
	return nil
}

func printRun(w io.Writer, r *runView) {
	printLine(w, "run", r.ID)
	printLine(w, "workflow", r.Workflow+" "+r.Version)
	printLine(w, "rules", r.RuleVersion)
	printLine(w, "trigger", r.TriggerKey)
	printLine(w, "event", r.CorrelationID)
	printLine(w, "input", string(r.Input))
	printLine(w, "subject", r.SubjectID)
	if r.Shredded {
		printLine(w, "shredded", "input and reason are gone with their data key")
	}
	printLine(w, "started", r.CreatedAt.Local().Format(time.DateTime)+" by "+r.Actor)
	printLine(w, "state", strings.TrimSpace(r.State+" "+r.Outcome))
	printLine(w, "reason", r.Reason)
	printLine(w, "finished by", r.FinishedBy)
}

func newRunList() *cobra.Command {
	var workflow, state, correlation, after string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List runs, newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, v := range map[string]string{"workflow": workflow, "state": state, "correlation_id": correlation, "after": after} {
				if v != "" {
					q.Set(name, v)
				}
			}
			var page struct {
				Runs []runView `json:"runs"`
				Next string    `json:"next"`
			}
			done, err := ask(c, "GET", "/v1/runs?"+q.Encode(), nil, &page)
			if err != nil || done {
				return err
			}
			w := newTable(c.OutOrStdout(), "RUN", "WORKFLOW", "VERSION", "STATE", "OUTCOME", "STARTED", "TRIGGER")
			for _, r := range page.Runs {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Workflow, visible(r.Version), r.State, r.Outcome, r.CreatedAt.Local().Format(time.DateTime), visible(r.TriggerKey))
			}
			return endPage(c, w, page.Next)
		},
	}
	f := c.Flags()
	f.StringVar(&workflow, "workflow", "", "only this workflow")
	f.StringVar(&state, "state", "", "only open or finished ones")
	f.StringVar(&correlation, "correlation-id", "", "only this business event")
	f.StringVar(&after, "after", "", "go on after this cursor")
	f.IntVar(&limit, "limit", 50, "how many at the most")
	return c
}

// runDetailView is what run show reads.
type runDetailView struct {
	Run      runView `json:"run"`
	Timeline []struct {
		At                                         time.Time
		Kind, Event, ID, Name, What, Actor, Reason string
	} `json:"timeline"`
	More bool `json:"more"`
}

// runResumeView is what run show --resume reads.
type runResumeView struct {
	Run     runView       `json:"run"`
	Done    runItemsView  `json:"done"`
	Waiting runItemsView  `json:"waiting"`
	Ended   runItemsView  `json:"ended"`
	Next    []runStepView `json:"next"`
}

type runItemsView struct {
	Decisions  []decisionView  `json:"decisions"`
	Operations []operationView `json:"operations"`
}

type runStepView struct{ Step, Branch, Tool string }

func newRunShow() *cobra.Command {
	var resume bool
	c := &cobra.Command{
		Use: "show ID", Short: "Show one run with its timeline, or what is needed to go on with it", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path := "/v1/runs/" + escape(args[0])
			if resume {
				return showResume(c, path+"/resume")
			}
			var v runDetailView
			done, err := ask(c, "GET", path, nil, &v)
			if err != nil || done {
				return err
			}
			printRun(c.OutOrStdout(), &v.Run)
			w := newTable(c.OutOrStdout())
			for _, e := range v.Timeline {
				fmt.Fprintf(w, "  %s\t%s %s\t%s\t%s\t%s\t%s\n", e.At.Local().Format(time.DateTime), e.Kind, e.Event, visible(strings.TrimSpace(e.Name+" "+e.What)), e.ID, visible(e.Actor), visible(e.Reason))
			}
			if v.More {
				fmt.Fprintln(w, "  more: onceward op list --run "+v.Run.ID)
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&resume, "resume", false, "show what is done, what is waited for, and what is next")
	return c
}

func showResume(c *cobra.Command, path string) error {
	var v runResumeView
	done, err := ask(c, "GET", path, nil, &v)
	if err != nil || done {
		return err
	}
	printRun(c.OutOrStdout(), &v.Run)
	w := newTable(c.OutOrStdout())
	for _, part := range []struct {
		name  string
		items runItemsView
	}{{"done", v.Done}, {"waiting", v.Waiting}, {"ended", v.Ended}} {
		for _, d := range part.items.Decisions {
			fmt.Fprintf(w, "  %s\tdecision\t%s\t%s\t%s\n", part.name, d.Step, d.ID, strings.TrimSpace(d.State+" "+d.current().Branch))
		}
		for _, o := range part.items.Operations {
			fmt.Fprintf(w, "  %s\toperation\t%s\t%s\t%s\n", part.name, o.Tool, o.ID, visible(strings.TrimSpace(o.State+" "+o.Reference)))
		}
	}
	for _, s := range v.Next {
		if s.Tool == "" {
			fmt.Fprintf(w, "  next\tdecide\t%s\n", s.Step)
			continue
		}
		fmt.Fprintf(w, "  next\tmay call\t%s\ton branch %s of %s\n", s.Tool, s.Branch, s.Step)
	}
	return w.Flush()
}
