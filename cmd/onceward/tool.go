package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newTool() *cobra.Command {
	c := &cobra.Command{Use: "tool", Short: "List, pause and resume tools"}
	serverFlag(c)
	c.AddCommand(newToolList(), newToolPause(), newToolResume())
	return c
}

func newToolList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the contracts in force on the server", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			rep, err := cl.do(c.Context(), "GET", "/v1/tools", nil)
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				return printJSON(c.OutOrStdout(), rep.body)
			}
			var list struct {
				Tools []struct {
					Name, Effect, Version, Description string
					Paused                             *struct{ Reason, By string }
				} `json:"tools"`
			}
			if err := json.Unmarshal(rep.body, &list); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "TOOL\tEFFECT\tVERSION\tSTATE\tDESCRIPTION")
			for _, t := range list.Tools {
				state := "running"
				if t.Paused != nil {
					state = "paused: " + t.Paused.Reason
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Name, t.Effect, t.Version, state, t.Description)
			}
			return w.Flush()
		},
	}
}

func newToolPause() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "pause NAME --reason WHY", Short: "Start no new attempts of a tool; running ones settle", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return postTool(c, args[0], "pause", map[string]any{"reason": reason})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, so that the next person knows when to resume")
	return c
}

func newToolResume() *cobra.Command {
	return &cobra.Command{
		Use: "resume NAME", Short: "Let attempts start again, and release what waited", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return postTool(c, args[0], "resume", map[string]any{}) },
	}
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
