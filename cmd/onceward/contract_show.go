package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

func newContractShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME PATH...", Short: "Show one contract with every default filled in", Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			set, err := contract.LoadDir(args[1:], lookingOptions())
			if err != nil {
				return err
			}
			if f, found := set.Workflow(args[0]); found {
				return showWorkflow(c, f)
			}
			if s, found := set.EventSource(args[0]); found {
				return showSource(c, s)
			}
			t, found := set.Tool(onceward.ToolName(args[0]))
			if !found {
				return &onceward.Error{Code: onceward.CodeToolNotFound, Message: fmt.Sprintf("no contract named %q in these files", args[0]), Hint: "onceward contract list shows the names"}
			}
			if wantsJSON(c) {
				return writeJSON(c, contractViewOf(t))
			}
			return printContract(c.OutOrStdout(), contractViewOf(t))
		},
	}
}

// contractView is a contract as JSON shows it.
type contractView struct {
	Name           string        `json:"name"`
	Description    string        `json:"description,omitempty"`
	Version        string        `json:"version"`
	File           string        `json:"file"`
	Line           int           `json:"line"`
	Effect         string        `json:"effect"`
	Guarantee      string        `json:"guarantee"`
	BusinessOwner  string        `json:"business_owner,omitempty"`
	TechnicalOwner string        `json:"technical_owner,omitempty"`
	Environment    []string      `json:"environment"`
	Secrets        []string      `json:"secrets"`
	Settings       []settingView `json:"settings"`
	Source         string        `json:"source"`
}

// settingView is one field that is in force.
type settingView struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	Default bool   `json:"default"`
	Meaning string `json:"meaning"`
}

func contractViewOf(t *contract.Tool) contractView {
	i := t.Info()
	v := contractView{
		Name: string(i.Name), Description: i.Description, Version: i.Version, File: t.File(), Line: t.Line(),
		Effect: i.Policy.Effect.String(), Guarantee: i.Policy.Effect.Promise(), BusinessOwner: i.BusinessOwner, TechnicalOwner: i.TechnicalOwner,
		Environment: orEmpty(t.EnvNames()), Secrets: orEmpty(t.SecretNames()), Source: string(i.Source),
	}
	for _, s := range t.Settings() {
		v.Settings = append(v.Settings, settingView(s))
	}
	return v
}

// orEmpty makes a list that JSON shows as [] and not as null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func printContract(out io.Writer, v contractView) error {
	w := newTable(out)
	for _, row := range [][2]string{
		{"name", v.Name}, {"description", v.Description}, {"version", v.Version}, {"file", fmt.Sprintf("%s:%d", v.File, v.Line)},
		{"effect", v.Effect}, {"guarantee", v.Guarantee}, {"business owner", orNobody(v.BusinessOwner)}, {"technical owner", orNobody(v.TechnicalOwner)},
		{"environment", orNone(v.Environment)}, {"secrets", orNone(v.Secrets)},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(out, "\nIn force (templates and conditions stand in the source below):\n")
	w = newTable(out)
	for _, s := range v.Settings {
		from := ""
		if s.Default {
			from = "default"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", s.Field, s.Value, from, s.Meaning)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", strings.TrimRight(v.Source, "\n"))
	return err
}

func orNobody(owner string) string {
	if owner == "" {
		return "nobody is named"
	}
	return owner
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// ownersOf names both owners, and once who is both.
func ownersOf(business, technical string) string {
	return strings.Join(slices.Compact([]string{orNobody(business), orNobody(technical)}), ", ")
}
