package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

func newContract() *cobra.Command {
	c := &cobra.Command{Use: "contract", Short: "Check, show, begin, compare and sign contracts"}
	c.AddCommand(newContractLint(), newContractList(), newContractShow(), newContractInit(), newContractSchema(), newContractHistory(), newContractDiff(), newContractSign())
	return c
}

func newContractLint() *cobra.Command {
	return &cobra.Command{
		Use: "lint PATH...", Short: "Say what is wrong or risky, line by line", Args: cobra.MinimumNArgs(1),
		Long: "Needs neither the variables nor the secrets that the contracts name: those that are missing here are\n" +
			"warnings. Exits 2 if a contract does not load or has an error; warnings alone exit 0.",
		RunE: func(c *cobra.Command, args []string) error {
			set, err := contract.LoadDir(args, lookingOptions())
			if err != nil {
				return err
			}
			found, errs := findings(set)
			if wantsJSON(c) {
				if err := writeJSON(c, map[string]any{"contracts": documents(set), "findings": found, "errors": errs}); err != nil {
					return err
				}
			} else {
				for _, f := range found {
					fmt.Fprintf(c.OutOrStdout(), "%s:%d: %s: %s (%s)\n  %s\n", f.File, f.Line, f.Severity, f.Message, f.Rule, f.Fix)
				}
				fmt.Fprintf(c.OutOrStdout(), "%s, %s, %s\n", plural(documents(set), "contract"), plural(len(found), "finding"), plural(errs, "error"))
			}
			if errs > 0 {
				return &exitError{code: exitUsage, said: true, err: errors.New("lint found errors")}
			}
			return nil
		},
	}
}

func documents(set *contract.Set) int {
	return len(set.Tools()) + len(set.Workflows()) + len(set.EventSources())
}

// findingView is a finding of lint as JSON shows it.
type findingView struct {
	Tool     string `json:"tool"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	Message  string `json:"message"`
	Fix      string `json:"fix"`
}

// findings lists what lint finds in a set, by tool and line, and counts the errors.
func findings(set *contract.Set) (found []findingView, errs int) {
	found = []findingView{}
	all := set.Lint()
	add := func(name, file string, list []contract.Finding) {
		for _, f := range list {
			found = append(found, findingView{name, file, f.Line, string(f.Severity), f.Rule, f.Message, f.Fix})
			if f.Severity == contract.SeverityError {
				errs++
			}
		}
	}
	for _, t := range set.Tools() {
		add(string(t.Info().Name), t.File(), all[t.Info().Name])
	}
	flows, sources := set.LintWorkflows(), set.LintEventSources()
	for _, w := range set.Workflows() {
		add(w.Info().Name, w.File(), flows[w.Info().Name])
	}
	for _, s := range set.EventSources() {
		add(s.Info().Name, s.File(), sources[s.Info().Name])
	}
	return found, errs
}

// lookingOptions load contracts to be looked at, away from where they are served.
func lookingOptions() contract.Options {
	opts := contractOptions()
	opts.StandIns = true
	return opts
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func writeJSON(c *cobra.Command, v any) error {
	enc := json.NewEncoder(c.OutOrStdout())
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func newContractList() *cobra.Command {
	var fromCatalog bool
	c := &cobra.Command{
		Use: "list PATH...", Short: "List the contracts in files and folders, or those of the catalog",
		Args: func(c *cobra.Command, args []string) error {
			if fromCatalog {
				return cobra.NoArgs(c, args)
			}
			return cobra.MinimumNArgs(1)(c, args)
		},
		Example: "  onceward contract list ./contracts\n  onceward contract list --catalog",
		RunE: func(c *cobra.Command, args []string) error {
			if fromCatalog {
				return listCatalog(c)
			}
			set, err := contract.LoadDir(args, lookingOptions())
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				list := []map[string]string{}
				for _, t := range set.Tools() {
					i := t.Info()
					list = append(list, map[string]string{"name": string(i.Name), "effect": i.Policy.Effect.String(), "version": i.Version, "description": i.Description, "file": t.File()})
				}
				flows := []map[string]string{}
				for _, w := range set.Workflows() {
					i := w.Info()
					flows = append(flows, map[string]string{"name": i.Name, "version": i.Version, "rule_version": i.Hash, "description": i.Description, "file": w.File()})
				}
				return writeJSON(c, map[string]any{"contracts": list, "workflows": flows, "sources": sourceViews(set)})
			}
			w := newTable(c.OutOrStdout(), "TOOL", "EFFECT", "VERSION", "FILE", "DESCRIPTION")
			for _, t := range set.Tools() {
				i := t.Info()
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, i.Policy.Effect, i.Version, t.File(), i.Description)
			}
			if len(set.Workflows()) > 0 {
				fmt.Fprintln(w, "\t\t\t\t\nWORKFLOW\tVERSION\tRULES\tFILE\tDESCRIPTION")
			}
			for _, f := range set.Workflows() {
				i := f.Info()
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, i.Version, i.Hash, f.File(), i.Description)
			}
			listSources(w, set)
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&fromCatalog, "catalog", false, "list the contracts for real providers that contract init --from prints")
	return c
}

func newContractInit() *cobra.Command {
	var effect, kind, from string
	c := &cobra.Command{
		Use: "init", Short: "Print a contract to begin with", Args: cobra.NoArgs,
		Long: "With --from it is one of the catalog, for a real provider, and what undoes its effect behind it.\n" +
			"metadata.facts says from where and of which day its facts are: read them again before you rely on them.",
		Example: "  onceward contract init --effect probed_write > contracts/tickets.yaml\n  onceward contract init --from stripe/refunds > contracts/refunds.yaml",
		RunE: func(c *cobra.Command, _ []string) error {
			if from != "" {
				return initFrom(c, from)
			}
			switch kind {
			case "tool":
			case "source":
				_, err := c.OutOrStdout().Write(contract.ExampleSource())
				return err
			default:
				return onceward.Errorf(onceward.CodeInvalidRequest, "kind is neither tool nor source")
			}
			class, err := onceward.ParseEffectClass(effect)
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(contract.Example(class))
			return err
		},
	}
	c.Flags().StringVar(&kind, "kind", "tool", "tool, or source: who delivers webhooks")
	c.Flags().StringVar(&from, "from", "", "a contract of the catalog, such as stripe/refunds")
	c.Flags().StringVar(&effect, "effect", "probed_write", "read, compute, keyed_write, conditional_write, probed_write or unsafe_write")
	c.MarkFlagsMutuallyExclusive("from", "kind")
	c.MarkFlagsMutuallyExclusive("from", "effect")
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
