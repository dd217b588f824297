package main

import (
	"encoding/json"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newCall() *cobra.Command {
	var key, run, decision, branch, correlation, wait, onDuplicate string
	c := &cobra.Command{
		Use:   "call TOOL INPUT",
		Short: "Perform a write once: INPUT is JSON, @FILE or - for standard input",
		Long: "Calls a tool through the server. The same intention again gets the first one's answer.\n\n" +
			"Exit codes: 0 done, 3 the key stands for another intention, 4 not final yet (ask again with the\n" +
			"same key), 5 ended without effect, 7 the server cannot be reached.",
		Example: `  onceward call tickets.create '{"source":"crm","event_id":"e-1","subject":"Printer on fire"}'`,
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			input, err := readInput(c, args[1])
			if err != nil {
				return err
			}
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			if d, err := time.ParseDuration(wait); err == nil {
				cl.http.Timeout = max(d, 0) + answerGrace
			}
			body := map[string]any{"tool": args[0], "input": input}
			for name, v := range map[string]string{"key": key, "run": run, "decision": decision, "branch": branch, "correlation_id": correlation, "wait": wait, "on_duplicate": onDuplicate} {
				if v != "" {
					body[name] = v
				}
			}
			rep, err := cl.do(c.Context(), "POST", "/v1/operations", body)
			if err != nil {
				return err
			}
			return showAnswer(c, rep)
		},
	}
	f := c.Flags()
	f.StringVar(&key, "key", "", "idempotency key, where the contract derives none")
	f.StringVar(&run, "run", "", "run that this call belongs to: its ID, or a free label")
	f.StringVar(&decision, "decision", "", "ID of the decision that led to this call")
	f.StringVar(&branch, "branch", "", "branch that you take the run to be on; another one is refused")
	f.StringVar(&correlation, "correlation-id", "", "business event that this call belongs to")
	f.StringVar(&wait, "wait", "", "how long to wait for the end (default 10s, at most 60s)")
	f.StringVar(&onDuplicate, "on-duplicate", "", "return (default), fail or fail_if_running")
	serverFlag(c)
	return c
}

// readInput reads JSON from the argument, a file or standard input. It is passed
// on as it came: the server has the one parser.
func readInput(c *cobra.Command, arg string) (json.RawMessage, error) {
	var data []byte
	var err error
	switch {
	case arg == "-":
		data, err = io.ReadAll(c.InOrStdin())
	case strings.HasPrefix(arg, "@"):
		data, err = os.ReadFile(arg[1:])
	default:
		data = []byte(arg)
	}
	if err != nil {
		return nil, usageError("input cannot be read: %v", err)
	}
	if !json.Valid(data) {
		return nil, usageError("input is not JSON; quote it for the shell, or give @FILE")
	}
	return json.RawMessage(data), nil
}

func escape(s string) string { return url.PathEscape(s) }
