package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/contract"
)

// workflowView is a workflow's document as JSON shows it.
type workflowView struct {
	Name           string             `json:"name"`
	Description    string             `json:"description,omitempty"`
	Version        string             `json:"version"`
	RuleVersion    string             `json:"rule_version"`
	File           string             `json:"file"`
	Line           int                `json:"line"`
	BusinessOwner  string             `json:"business_owner,omitempty"`
	TechnicalOwner string             `json:"technical_owner,omitempty"`
	Steps          []workflowStepView `json:"steps"`
	Source         string             `json:"source"`
}

type workflowStepView struct {
	Name        string               `json:"name"`
	Description string               `json:"description,omitempty"`
	Schema      json.RawMessage      `json:"schema"`
	Branches    []workflowBranchView `json:"branches"`
}

type workflowBranchView struct {
	Name  string   `json:"name"`
	Tools []string `json:"tools"`
}

// showWorkflow prints one document of kind Workflow.
func showWorkflow(c *cobra.Command, f *contract.Workflow) error {
	i := f.Info()
	v := workflowView{Name: i.Name, Description: i.Description, Version: i.Version, RuleVersion: i.Hash, File: f.File(), Line: f.Line(),
		BusinessOwner: i.BusinessOwner, TechnicalOwner: i.TechnicalOwner, Source: string(i.Source)}
	for _, s := range i.Steps {
		step := workflowStepView{Name: s.Name, Description: s.Description, Schema: s.Schema, Branches: []workflowBranchView{}}
		for _, b := range s.Branches {
			names := []string{}
			for _, t := range b.Tools {
				names = append(names, string(t))
			}
			step.Branches = append(step.Branches, workflowBranchView{b.Name, names})
		}
		v.Steps = append(v.Steps, step)
	}
	if wantsJSON(c) {
		return writeJSON(c, v)
	}
	w := c.OutOrStdout()
	for _, row := range [][2]string{
		{"workflow", v.Name}, {"about", v.Description}, {"version", v.Version}, {"rules", v.RuleVersion}, {"file", fmt.Sprintf("%s:%d", v.File, v.Line)},
		{"business", orNobody(v.BusinessOwner)}, {"technical", orNobody(v.TechnicalOwner)},
	} {
		printLine(w, row[0], row[1])
	}
	for _, s := range v.Steps {
		printLine(w, "step", strings.TrimSpace(s.Name+"  "+s.Description))
		for _, b := range s.Branches {
			printLine(w, "  branch", b.Name+": "+orNone(b.Tools))
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.TrimRight(v.Source, "\n"))
	return err
}
