package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// sagaView is what the commands read of a saga.
type sagaView struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Key       string    `json:"key"`
	Run       string    `json:"run"`
	State     string    `json:"state"`
	Cause     string    `json:"cause"`
	Note      string    `json:"note"`
	CreatedAt time.Time `json:"created_at"`
	Steps     []struct {
		Name         string `json:"name"`
		Tool         string `json:"tool"`
		Kind         string `json:"kind"`
		State        string `json:"state"`
		Operation    string `json:"operation"`
		Compensation string `json:"compensation"`
		Why          string `json:"why"`
	} `json:"steps"`
}

func newSaga() *cobra.Command {
	c := &cobra.Command{Use: "saga", Short: "Start, show, list, cancel and resolve sagas: operations of which all are done, or what was done is undone"}
	serverFlag(c)
	c.AddCommand(newSagaStart(), newSagaShow(), newSagaList(), newSagaCancel(), newSagaResolve())
	return c
}

func newSagaStart() *cobra.Command {
	var key, steps, correlation, subject string
	c := &cobra.Command{
		Use: "start NAME --key KEY --steps STEPS", Short: "Start a saga once for each name and key, or show the one that is there", Args: cobra.ExactArgs(1),
		Example: `  onceward saga start orders.place --key o-17 --steps @steps.json`,
		RunE: func(c *cobra.Command, args []string) error {
			data, err := readInput(c, steps)
			if err != nil {
				return err
			}
			body := map[string]any{"name": args[0], "key": key, "steps": data}
			for name, v := range map[string]string{"correlation_id": correlation, "subject": subject} {
				if v != "" {
					body[name] = v
				}
			}
			return showSaga(c, "POST", "/v1/sagas", body)
		},
	}
	f := c.Flags()
	f.StringVar(&key, "key", "", "names the business event")
	f.StringVar(&subject, "subject", "", "whose data the inputs are, to be shredded with it")
	f.StringVar(&steps, "steps", "", "a JSON array of {name, tool, input, kind, undo}: JSON, @FILE or - for standard input")
	f.StringVar(&correlation, "correlation-id", "", "follows the event through all services")
	return c
}

func newSagaShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show how a saga and each of its steps stands", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return showSaga(c, "GET", "/v1/sagas/"+escape(args[0]), nil)
		},
	}
}

func newSagaCancel() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "cancel ID", Short: "Make a saga go back: what is done is undone", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return showSaga(c, "POST", "/v1/sagas/"+escape(args[0])+"/cancel", map[string]any{"reason": reason})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why")
	return c
}

func newSagaResolve() *cobra.Command {
	var step, outcome, reason string
	c := &cobra.Command{
		Use: "resolve ID --step STEP --outcome undone|kept|done --reason WHY", Short: "Settle the step for which a saga needs review", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return showSaga(c, "POST", "/v1/sagas/"+escape(args[0])+"/resolve", map[string]any{"step": step, "outcome": outcome, "reason": reason})
		},
	}
	f := c.Flags()
	f.StringVar(&step, "step", "", "the step that it waits for")
	f.StringVar(&outcome, "outcome", "", "undone: by hand; kept: its effect stays; done: of a saga that goes forward")
	f.StringVar(&reason, "reason", "", "how it is known, or why it stays so")
	return c
}

func showSaga(c *cobra.Command, method, path string, body any) error {
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	rep, err := cl.do(c.Context(), method, path, body)
	if err != nil {
		return err
	}
	if wantsJSON(c) {
		return printJSON(c.OutOrStdout(), rep.body)
	}
	var a struct {
		Saga     sagaView `json:"saga"`
		Decision string   `json:"decision"`
	}
	if err := json.Unmarshal(rep.body, &a); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	printLine(c.OutOrStdout(), "decision", a.Decision)
	return a.Saga.print(c.OutOrStdout())
}

func (v *sagaView) print(w io.Writer) error {
	for _, line := range [][2]string{{"saga", v.ID}, {"name", v.Name}, {"key", v.Key}, {"run", v.Run}, {"state", v.State}, {"goes back because", v.Cause}, {"waits", v.Note}} {
		printLine(w, line[0], visible(line[1]))
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "STEP\tTOOL\tKIND\tSTATE\tOPERATION\tUNDONE BY\tWHY")
	for _, s := range v.Steps {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Tool, s.Kind, s.State, s.Operation, s.Compensation, visible(s.Why))
	}
	return t.Flush()
}

func newSagaList() *cobra.Command {
	var name, state, after string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List sagas, newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			for n, v := range map[string]string{"name": name, "state": state, "after": after} {
				if v != "" {
					q.Set(n, v)
				}
			}
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			rep, err := cl.do(c.Context(), "GET", "/v1/sagas?"+q.Encode(), nil)
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				return printJSON(c.OutOrStdout(), rep.body)
			}
			return printSagas(c, rep.body)
		},
	}
	f := c.Flags()
	f.StringVar(&name, "name", "", "those of this name")
	f.StringVar(&state, "state", "", "those in this state")
	f.IntVar(&limit, "limit", 50, "how many at the most, 100 at the most")
	f.StringVar(&after, "after", "", "go on behind this place, as the page before names it")
	return c
}

func printSagas(c *cobra.Command, body []byte) error {
	var page struct {
		Sagas []sagaView `json:"sagas"`
		Next  string     `json:"next"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "SAGA\tNAME\tKEY\tSTATE\tSTARTED\tWAITS")
	for i := range page.Sagas {
		v := &page.Sagas[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", v.ID, v.Name, visible(v.Key), v.State, v.CreatedAt.Local().Format(time.DateTime), visible(v.Note))
	}
	if page.Next != "" {
		fmt.Fprintf(c.ErrOrStderr(), "there are more: --after %s\n", page.Next)
	}
	return w.Flush()
}
