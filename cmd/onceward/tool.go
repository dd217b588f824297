package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newTool() *cobra.Command {
	c := &cobra.Command{Use: "tool", Short: "List, pause and resume tools"}
	serverFlag(c)
	c.AddCommand(newToolList(), newToolPause(), newToolResume(), newToolStopped())
	return c
}

func newToolList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the contracts in force on the server", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var list struct {
				Tools []struct {
					Name, Effect, Version, Description string
					Paused                             *struct{ Reason, By string }
					Held                               *struct {
						Version  string
						Unsigned []string
					}
				} `json:"tools"`
			}
			if done, err := ask(c, "GET", "/v1/tools", nil, &list); err != nil || done {
				return err
			}
			w := newTable(c.OutOrStdout(), "TOOL", "EFFECT", "VERSION", "STATE", "DESCRIPTION")
			for _, t := range list.Tools {
				state := "running"
				if t.Paused != nil {
					state = "paused: " + t.Paused.Reason + " (" + t.Paused.By + ")"
				}
				if t.Held != nil {
					state += "; " + t.Held.Version + " waits for the yes of: " + strings.Join(t.Held.Unsigned, ", ")
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Name, t.Effect, t.Version, visible(state), visible(t.Description))
			}
			return w.Flush()
		},
	}
}

func newToolPause() *cobra.Command {
	var reason string
	var all, everything bool
	c := &cobra.Command{
		Use: "pause NAME|--all|--everything --reason WHY", Short: "Start no new attempts of a tool, of all, or of all tenants; running ones settle", Args: cobra.MaximumNArgs(1),
		Example: "  onceward tool pause tickets.create --reason 'wrong queue'\n  onceward tool pause --all --reason 'the agent runs wild'",
		RunE: func(c *cobra.Command, args []string) error {
			scope, err := scopeOf(args, all, everything)
			if err != nil {
				return err
			}
			if scope == "" {
				return postTool(c, args[0], "pause", map[string]any{"reason": reason})
			}
			return postSwitch(c, "stop", map[string]any{"scope": scope, "reason": reason})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, so that the next person knows when to resume")
	scopeFlags(c, &all, &everything)
	return c
}

func newToolResume() *cobra.Command {
	var all, everything bool
	c := &cobra.Command{
		Use: "resume NAME|--all|--everything", Short: "Let attempts start again, and release what waited", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			scope, err := scopeOf(args, all, everything)
			if err != nil {
				return err
			}
			if scope == "" {
				return postTool(c, args[0], "resume", map[string]any{})
			}
			return postSwitch(c, "resume", map[string]any{"scope": scope})
		},
	}
	scopeFlags(c, &all, &everything)
	return c
}

func scopeFlags(c *cobra.Command, all, everything *bool) {
	c.Flags().BoolVar(all, "all", false, "every tool of the tenant")
	c.Flags().BoolVar(everything, "everything", false, "every tool of every tenant")
}

// scopeOf is what a stop is for: "" for the one tool that is named.
func scopeOf(args []string, all, everything bool) (string, error) {
	switch {
	case len(args) == 1 && !all && !everything:
		return "", nil
	case len(args) == 0 && all && !everything:
		return "tenant", nil
	case len(args) == 0 && everything && !all:
		return "everything", nil
	}
	return "", usageError("name one tool, or give --all or --everything")
}

func postSwitch(c *cobra.Command, action string, body any) error {
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	rep, err := cl.do(c.Context(), "POST", "/v1/switches/"+action, body)
	if err != nil {
		return err
	}
	if wantsJSON(c) {
		return printJSON(c.OutOrStdout(), rep.body)
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), map[string]string{"stop": "stopped", "resume": "resumed"}[action])
	return err
}

func newToolStopped() *cobra.Command {
	return &cobra.Command{
		Use: "stopped", Short: "List what is stopped, by whom, when and why", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var list struct {
				Switches []struct {
					Scope, Tool, Reason, By string
					At                      time.Time
				} `json:"switches"`
			}
			if done, err := ask(c, "GET", "/v1/switches", nil, &list); err != nil || done {
				return err
			}
			w := newTable(c.OutOrStdout(), "STOPPED", "BY", "SINCE", "REASON")
			for _, s := range list.Switches {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", stoppedText(s.Scope, s.Tool), visible(s.By), s.At.Local().Format(time.DateTime), visible(s.Reason))
			}
			return w.Flush()
		},
	}
}

// stoppedText says what a switch stops.
func stoppedText(scope, tool string) string {
	return map[string]string{"tool": tool, "tenant": "every tool", "everything": "every tool of every tenant"}[scope]
}

func postTool(c *cobra.Command, name, action string, body any) error {
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	rep, err := cl.do(c.Context(), "POST", "/v1/tools/"+escape(name)+"/"+action, body)
	if err != nil {
		return err
	}
	if wantsJSON(c) {
		return printJSON(c.OutOrStdout(), rep.body)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %sd\n", name, action)
	return err
}
