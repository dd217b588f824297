// Command onceward keeps writes to other systems to one effect per intention.
//
// One file is one command; this package wires and holds no rule of its own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if strings.HasPrefix(err.Error(), "unknown command") { // cobra's own, at the top
		err = usageError("%s", err.Error())
	}
	if asked, flagErr := root.PersistentFlags().GetBool("json"); flagErr == nil && asked {
		printProblem(out, err)
	}
	var quiet *exitError
	if !errors.As(err, &quiet) || !quiet.said {
		fmt.Fprintln(errOut, "onceward: "+err.Error())
		if hint := hintOf(err); hint != "" {
			fmt.Fprintln(errOut, "  "+hint)
		}
	}
	return exitCode(err)
}

// printProblem prints what a server refused as it said it, and any other error
// that has a code in the same members.
func printProblem(out io.Writer, err error) {
	var quiet *exitError
	var refused *refusal
	var typed *onceward.Error
	switch {
	case errors.As(err, &quiet) && quiet.said:
	case errors.As(err, &refused):
		_ = printJSON(out, refused.body)
	case errors.As(err, &typed):
		a := onceward.AdviceFor(typed)
		_ = json.NewEncoder(out).Encode(map[string]any{"code": typed.Code, "detail": typed.Message, "advice": hintOf(err),
			"retryable": a.Retryable, "side_effect_possible": a.SideEffectPossible, "reconciliation_required": a.ReconciliationRequired})
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "onceward",
		Short: "One business intention, one stable key, one recorded outcome",
		Long: "Onceward stands between software that repeats itself (agents, webhooks, queues, people) and the\n" +
			"systems it writes to. Every write passes through it as an operation: claimed before the side effect,\n" +
			"recorded after it, answered from the record when it is repeated, and unknown when nobody can know.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().Bool("json", false, "print JSON")
	root.PersistentFlags().String("config", "", "configuration file (default onceward.yaml, if it is there)")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError("%s; see %s --help", err.Error(), c.CommandPath())
	})
	root.AddCommand(newServe(), newMCP(), newDemo(), newDrill(), newCall(), newOperation(), newReview(), newEvent(), newApproval(), newReplay(), newRun(), newSaga(), newDecision(), newHold(), newKey(), newContract(), newTool(), newToken(),
		newSim(), newOutbox(), newDoctor(), newMigrate(), newBackup(), newRestore(), newRecover(), newAudit(), newReport(), newVersion(), newReference())
	return strict(root)
}

// strict makes every complaint about arguments a usage error, and an unknown
// subcommand one too: cobra would print help for it and call that success.
func strict(c *cobra.Command) *cobra.Command {
	if c.HasSubCommands() && !c.Runnable() && c.HasParent() {
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("unknown command %q for %q; see %s --help", args[0], c.CommandPath(), c.CommandPath())
			}
			return c.Help()
		}
	} else if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, given []string) error {
			if err := args(c, given); err != nil {
				return usageError("%s; see %s --help", err.Error(), c.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		strict(sub)
	}
	return c
}
