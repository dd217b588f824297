package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// decisionView is what the commands read of a decision.
type decisionView struct {
	ID        string                `json:"id"`
	Run       string                `json:"run"`
	Step      string                `json:"step"`
	State     string                `json:"state"`
	ClaimedBy string                `json:"claimed_by"`
	Versions  []decisionVersionView `json:"versions"`
}

type decisionVersionView struct {
	Version       int             `json:"version"`
	InputDigest   string          `json:"input_digest"`
	Model         string          `json:"model"`
	PromptVersion string          `json:"prompt_version"`
	Output        json.RawMessage `json:"output"`
	Confidence    *float64        `json:"confidence"`
	RuleVersion   string          `json:"rule_version"`
	Rule          string          `json:"rule"`
	Branch        string          `json:"branch"`
	OpenedBy      string          `json:"opened_by"`
	Reason        string          `json:"reason"`
	PinnedBy      string          `json:"pinned_by"`
}

// current is the version in force.
func (d *decisionView) current() decisionVersionView {
	if len(d.Versions) == 0 {
		return decisionVersionView{}
	}
	return d.Versions[len(d.Versions)-1]
}

func newDecision() *cobra.Command {
	c := &cobra.Command{Use: "decision", Short: "Show, pin and renew what the steps of runs decided"}
	serverFlag(c)
	c.AddCommand(newDecisionShow(), newDecisionPin(), newDecisionRedecide())
	return c
}

func newDecisionShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show one decision: inputs, validated fields, rule, branch, and the operations that it led to", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return showDecision(c, "GET", "/v1/decisions/"+escape(args[0]), nil)
		},
	}
}

func newDecisionRedecide() *cobra.Command {
	var reason string
	var version int
	c := &cobra.Command{
		Use: "redecide ID --reason WHY", Short: "Let a step decide anew; what was pinned is kept as an earlier version", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			body := map[string]any{"reason": reason}
			if version != 0 {
				body["version"] = version
			}
			return showDecision(c, "POST", "/v1/decisions/"+escape(args[0])+"/redecide", body)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why what is pinned shall not hold any more")
	c.Flags().IntVar(&version, "version", 0, "the version that you have seen: nothing changes if it was decided anew already")
	return c
}

func showDecision(c *cobra.Command, method, path string, body any) error {
	var a struct {
		Decision   decisionView    `json:"decision"`
		Operations []operationView `json:"operations"`
	}
	done, err := ask(c, method, path, body, &a)
	if err != nil || done {
		return err
	}
	printDecision(c.OutOrStdout(), &a.Decision)
	w := newTable(c.OutOrStdout())
	for _, o := range a.Operations {
		fmt.Fprintf(w, "  led to\t%s\t%s\t%s\t%s\n", o.ID, o.Tool, o.State, visible(o.Reference))
	}
	return w.Flush()
}

func printDecision(w io.Writer, d *decisionView) {
	printLine(w, "decision", d.ID)
	printLine(w, "run", d.Run)
	printLine(w, "step", d.Step)
	printLine(w, "state", d.State)
	if d.State == "claimed" {
		printLine(w, "claimed by", d.ClaimedBy)
	}
	for _, v := range d.Versions {
		printLine(w, "version", fmt.Sprint(v.Version))
		if v.Reason != "" {
			printLine(w, "  reason", v.Reason+" ("+v.OpenedBy+")")
		}
		printLine(w, "  input", v.InputDigest)
		printLine(w, "  model", strings.TrimSpace(v.Model+" "+v.PromptVersion))
		printLine(w, "  output", string(v.Output))
		if v.Confidence != nil {
			printLine(w, "  confidence", fmt.Sprint(*v.Confidence))
		}
		printLine(w, "  rules", strings.TrimSpace(v.RuleVersion+" "+v.Rule))
		printLine(w, "  branch", v.Branch)
		printLine(w, "  pinned by", v.PinnedBy)
	}
}

// pinFlags are what decision pin takes.
type pinFlags struct {
	run, step, input, inputDigest, output, model, prompt, rules, schema, token, lease, wait string
	confidence                                                                              float64
}

func newDecisionPin() *cobra.Command {
	var p pinFlags
	c := &cobra.Command{
		Use: "pin --run ID --step STEP", Short: "Decide a step once: get what is pinned, or the right to decide, or pin an output", Args: cobra.NoArgs,
		Long: "Without --output it answers with what is pinned, or with a claim: then decide, and call it again with\n" +
			"--output and the claim's token. Exits 4 while somebody else is deciding.",
		Example: `  onceward decision pin --run run_… --step classify --input @mail.json
  onceward decision pin --run run_… --step classify --input @mail.json --claim-token ct_… --output '{"category":"invoice","amount":12}'`,
		RunE: func(c *cobra.Command, _ []string) error { return p.pin(c) },
	}
	f := c.Flags()
	for _, flag := range []struct {
		into       *string
		name, help string
	}{
		{&p.run, "run", "the run"}, {&p.step, "step", "the step"}, {&p.input, "input", "what is decided about: JSON, @FILE or - for standard input"},
		{&p.inputDigest, "input-digest", "in place of the input: SHA-256 over its canonical form"}, {&p.output, "output", "what was decided: JSON, @FILE or -"},
		{&p.model, "model", "who decides"}, {&p.prompt, "prompt-version", "by what it was asked"}, {&p.rules, "rule-version", "of the rules that follow"},
		{&p.schema, "schema", "JSON Schema of the output, where the workflow has no document: JSON, @FILE or -"},
		{&p.token, "claim-token", "of the claim; or one of your own, to claim with"}, {&p.lease, "lease", "how long a claim holds (default 2m, at most 15m)"},
		{&p.wait, "wait", "how long to wait for somebody else (default 10s, at most 60s)"},
	} {
		f.StringVar(flag.into, flag.name, "", flag.help)
	}
	f.Float64Var(&p.confidence, "confidence", 0, "how sure the step is, from 0 to 1")
	return c
}

// body is the request that the flags make.
func (p *pinFlags) body(c *cobra.Command) (map[string]any, error) {
	body := map[string]any{"run": p.run, "step": p.step}
	for name, v := range map[string]string{"input_digest": p.inputDigest, "model": p.model, "prompt_version": p.prompt, "rule_version": p.rules,
		"claim_token": p.token, "lease": p.lease, "wait": p.wait} {
		if v != "" {
			body[name] = v
		}
	}
	for name, v := range map[string]string{"input": p.input, "output": p.output, "schema": p.schema} {
		if v == "" {
			continue
		}
		data, err := readInput(c, v)
		if err != nil {
			return nil, err
		}
		body[name] = data
	}
	if c.Flags().Changed("confidence") {
		body["confidence"] = p.confidence
	}
	return body, nil
}

func (p *pinFlags) pin(c *cobra.Command) error {
	body, err := p.body(c)
	if err != nil {
		return err
	}
	var a struct {
		State    string       `json:"state"`
		Answered string       `json:"answered"`
		Decision decisionView `json:"decision"`
		Claim    struct {
			Token      string    `json:"token"`
			LeaseUntil time.Time `json:"lease_until"`
		} `json:"claim"`
	}
	done, err := ask(c, "PUT", "/v1/decisions", body, &a)
	if err != nil {
		return err
	}
	if !done {
		printDecision(c.OutOrStdout(), &a.Decision)
		printLine(c.OutOrStdout(), "answered", a.Answered)
		if a.Claim.Token != "" {
			printLine(c.OutOrStdout(), "claim token", a.Claim.Token)
			printLine(c.OutOrStdout(), "lease until", a.Claim.LeaseUntil.Local().Format(time.DateTime))
		}
	}
	if a.State == "pending" {
		return &exitError{code: exitNotFinal, said: true}
	}
	return nil
}
