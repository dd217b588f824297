package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/httpapi"
)

func newContractHistory() *cobra.Command {
	c := &cobra.Command{
		Use: "history NAME", Short: "List a contract's versions on the server: in force, waiting, signed by whom, and what differs", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var list httpapi.ContractVersionList
			if done, err := ask(c, "GET", "/v1/tools/"+escape(args[0])+"/versions", nil, &list); err != nil || done {
				return err
			}
			for i := range list.Versions {
				printVersion(c.OutOrStdout(), &list.Versions[i])
			}
			return nil
		},
	}
	serverFlag(c)
	return c
}

func printVersion(out io.Writer, v *httpapi.ContractVersion) {
	state := "superseded"
	switch {
	case v.InForce:
		state = "in force"
	case v.Proposed && len(v.Unsigned) == 0:
		state = "signed by both owners, not in force yet"
	case v.Proposed:
		state = "waits for the yes of: " + strings.Join(v.Unsigned, ", ")
	}
	fmt.Fprintf(out, "%s  %s\n", v.Version, state)
	for _, s := range v.Signed {
		fmt.Fprintf(out, "  signed as %s owner by %s at %s in place of %s: %s\n", s.As, s.By, s.At.Format("2006-01-02 15:04:05Z"), s.Against, s.Reason)
	}
	if v.Incomparable != "" {
		fmt.Fprintf(out, "  against %s: %s\n", v.Against, v.Incomparable)
	}
	for _, d := range v.Differences {
		printDifference(out, onceward.ContractDifference(d))
	}
}

func printDifference(out io.Writer, d onceward.ContractDifference) {
	mark := " "
	if d.Widens {
		mark = "!"
	}
	fmt.Fprintf(out, "  %s %s: %s -> %s (%s)\n", mark, d.Field, orUnsaid(d.Was), orUnsaid(d.Is), d.Why)
}

func orUnsaid(value string) string {
	if value == "" {
		return "(nothing)"
	}
	return value
}

func newContractDiff() *cobra.Command {
	c := &cobra.Command{
		Use: "diff NAME OLD NEW", Short: "Say in what two versions of a contract differ, and what widens risk", Args: cobra.ExactArgs(3),
		Long: "OLD and NEW are files, or versions that the server keeps, as contract history names them.\n" +
			"A line with ! widens risk, or nobody can tell that it does not: where sign-off is demanded both owners have to say yes.",
		Example: "  onceward contract diff tickets.create before/tickets.yaml contracts/tickets.yaml\n  onceward contract diff tickets.create 3f9a01c2d4e5 contracts/tickets.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			var two [2]*contract.Tool
			for i, place := range args[1:] {
				var err error
				if two[i], err = contractAt(c, onceward.ToolName(args[0]), place); err != nil {
					return err
				}
			}
			all := contract.Differences(two[0], two[1])
			if wantsJSON(c) {
				list := make([]httpapi.ContractDifference, len(all))
				for i, d := range all {
					list[i] = httpapi.ContractDifference(d)
				}
				return writeJSON(c, map[string]any{"differences": list, "widens": onceward.Widens(all)})
			}
			for _, d := range all {
				printDifference(c.OutOrStdout(), d)
			}
			return nil
		},
	}
	serverFlag(c)
	return c
}

// contractAt reads a contract from a file, or, where there is none of that name,
// from the server by its version.
func contractAt(c *cobra.Command, name onceward.ToolName, place string) (*contract.Tool, error) {
	if _, err := os.Stat(place); err == nil {
		set, err := contract.LoadDir([]string{place}, lookingOptions())
		if err != nil {
			return nil, err
		}
		if t, found := set.Tool(name); found {
			return t, nil
		}
		return nil, &onceward.Error{Code: onceward.CodeToolNotFound, Message: fmt.Sprintf("no contract named %q in %s", name, place), Hint: "onceward contract list shows the names"}
	}
	if strings.ContainsAny(place, "./\\") {
		return nil, &onceward.Error{Code: onceward.CodeContractInvalid, Message: "there is no file " + place, Hint: "give a file, or a version as onceward contract history names it"}
	}
	var doc httpapi.ContractDocument
	if _, err := asked(c, "GET", "/v1/tools/"+escape(string(name))+"/versions/"+escape(place), nil, &doc); err != nil {
		return nil, err
	}
	tools, err := contract.Load([]byte(doc.Source), "version "+place, lookingOptions())
	if err != nil {
		return nil, err
	}
	return tools[0], nil
}

func newContractSign() *cobra.Command {
	var as, reason string
	c := &cobra.Command{
		Use: "sign NAME VERSION --as business|technical --reason WHY", Short: "Say yes, as one of its owners, to a version that widens risk", Args: cobra.ExactArgs(2),
		Example: "  onceward contract sign payouts.send 3f9a01c2d4e5 --as business --reason 'the limit was agreed with finance'",
		RunE: func(c *cobra.Command, args []string) error {
			var a httpapi.ContractVersionAnswer
			if done, err := ask(c, "POST", "/v1/tools/"+escape(args[0])+"/versions/"+escape(args[1])+"/sign", map[string]any{"as": as, "reason": reason}, &a); err != nil || done {
				return err
			}
			printVersion(c.OutOrStdout(), &a.Version)
			return nil
		},
	}
	serverFlag(c)
	c.Flags().StringVar(&as, "as", "", "business or technical")
	c.Flags().StringVar(&reason, "reason", "", "why the wider risk is wanted")
	return c
}

// signOffs are the values of sign_off.
const (
	signOffOff      = "off"
	signOffRequired = "required"
)

// demandsSignOff reads sign_off.
func (cfg *config) demandsSignOff() (bool, error) {
	switch cfg.SignOff {
	case signOffOff, "":
		return false, nil
	case signOffRequired:
		return true, nil
	}
	return false, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: fmt.Sprintf("sign_off %q is not known", cfg.SignOff), Hint: "use off or required"}
}

// tellHeld logs what waits for its owners.
func (e *engine) tellHeld() {
	for _, h := range e.tools.Held() {
		e.log.Warn("contract waits for its owners' yes: the version in force goes on", "tool", h.Next.Info().Name, "version", h.Next.Info().Version,
			"in_force", h.InForce.Info().Version, "unsigned", onceward.Unsigned(h.Signed))
	}
}
