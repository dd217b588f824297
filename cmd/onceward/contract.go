package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

func newContract() *cobra.Command {
	c := &cobra.Command{Use: "contract", Short: "Check, show and begin contracts"}
	c.AddCommand(newContractLint(), newContractList(), newContractShow(), newContractInit(), newContractSchema())
	return c
}

func newContractLint() *cobra.Command {
	return &cobra.Command{
		Use: "lint PATH...", Short: "Say what is wrong or risky, line by line", Args: cobra.MinimumNArgs(1),
		Long: "Exits 2 if a contract does not load or has an error; warnings alone exit 0.",
		RunE: func(c *cobra.Command, args []string) error {
			set, err := contract.LoadDir(args, contractOptions())
			if err != nil {
				return err
			}
			type finding struct {
				Tool, File string
				contract.Finding
			}
			found, errs := []finding{}, 0
			for _, t := range set.Tools() {
				for _, f := range contract.Lint(t) {
					found = append(found, finding{string(t.Info().Name), t.File(), f})
					if f.Severity == contract.SeverityError {
						errs++
					}
				}
			}
			if wantsJSON(c) {
				if err := json.NewEncoder(c.OutOrStdout()).Encode(map[string]any{"contracts": len(set.Tools()), "findings": found}); err != nil {
					return err
				}
			} else {
				for _, f := range found {
					fmt.Fprintf(c.OutOrStdout(), "%s:%d: %s: %s (%s)\n  %s\n", f.File, f.Line, f.Severity, f.Message, f.Rule, f.Fix)
				}
				fmt.Fprintf(c.OutOrStdout(), "%d contracts, %d findings, %d errors\n", len(set.Tools()), len(found), errs)
			}
			if errs > 0 {
				return &exitError{code: exitUsage, said: true, err: errors.New("lint found errors")}
			}
			return nil
		},
	}
}

func newContractList() *cobra.Command {
	return &cobra.Command{
		Use: "list PATH...", Short: "List the contracts in files and folders", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			set, err := contract.LoadDir(args, contractOptions())
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				list := []map[string]string{}
				for _, t := range set.Tools() {
					i := t.Info()
					list = append(list, map[string]string{"name": string(i.Name), "effect": i.Policy.Effect.String(), "version": i.Version, "description": i.Description, "file": t.File()})
				}
				return json.NewEncoder(c.OutOrStdout()).Encode(map[string]any{"contracts": list})
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "TOOL\tEFFECT\tVERSION\tFILE\tDESCRIPTION")
			for _, t := range set.Tools() {
				i := t.Info()
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, i.Policy.Effect, i.Version, t.File(), i.Description)
			}
			return w.Flush()
		},
	}
}

func newContractShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME PATH...", Short: "Show one contract with every default filled in", Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			set, err := contract.LoadDir(args[1:], contractOptions())
			if err != nil {
				return err
			}
			for _, t := range set.Tools() {
				if t.Info().Name == onceward.ToolName(args[0]) {
					return showContract(c, t)
				}
			}
			return &onceward.Error{Code: onceward.CodeToolNotFound, Message: fmt.Sprintf("no contract named %q in these files", args[0]), Hint: "onceward contract list shows the names"}
		},
	}
}

func showContract(c *cobra.Command, t *contract.Tool) error {
	i := t.Info()
	p := i.Policy
	rows := [][2]string{
		{"name", string(i.Name)}, {"version", i.Version}, {"effect", p.Effect.String()}, {"guarantee", p.Effect.Promise()},
		{"business owner", i.BusinessOwner}, {"technical owner", i.TechnicalOwner}, {"deadline", p.Deadline.String()}, {"lease", p.Lease.String()},
		{"settle", p.Settle.String()}, {"attempts", fmt.Sprint(p.MaxAttempts)}, {"backoff", p.BackoffInitial.String() + " to " + p.BackoffMax.String()},
		{"recovery window", p.RecoveryWindow.String()}, {"not after", p.NotAfter.String()}, {"horizon", i.Horizon.String()}, {"hosts", fmt.Sprint(i.Hosts)},
		{"environment", fmt.Sprint(t.EnvNames())}, {"secrets", fmt.Sprint(t.SecretNames())},
	}
	if wantsJSON(c) {
		m := map[string]string{}
		for _, r := range rows {
			m[r[0]] = r[1]
		}
		return json.NewEncoder(c.OutOrStdout()).Encode(m)
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 4, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\n", r[0], r[1])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "---\n%s", i.Source)
	return err
}

func newContractInit() *cobra.Command {
	var effect string
	c := &cobra.Command{
		Use: "init", Short: "Print a contract to begin with", Args: cobra.NoArgs,
		Example: "  onceward contract init --effect probed_write > contracts/tickets.yaml",
		RunE: func(c *cobra.Command, _ []string) error {
			class, err := onceward.ParseEffectClass(effect)
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(contract.Example(class))
			return err
		},
	}
	c.Flags().StringVar(&effect, "effect", "probed_write", "read, compute, keyed_write, conditional_write, probed_write or unsafe_write")
	return c
}

func newContractSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of contracts, for editors", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(contract.Schema())
			return err
		},
	}
}
