package main

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
)

func newApproval() *cobra.Command {
	c := &cobra.Command{Use: "approval", Short: "Show what waits for a person's yes, and answer it"}
	serverFlag(c)
	c.AddCommand(newApprovalList(), newApprovalShow(), newApprovalGrant(), newApprovalEdit(), newApprovalReject(), newApprovalAssign())
	return c
}

// askedView is what the commands read of an open question.
type askedView struct {
	ID        string    `json:"id"`
	Tool      string    `json:"tool"`
	Key       string    `json:"key"`
	Actor     string    `json:"actor"`
	CreatedAt time.Time `json:"created_at"`
	Approval  struct {
		State  string `json:"state"`
		Quorum int    `json:"quorum"`
		Yeses  []struct {
			Actor string `json:"actor"`
		} `json:"yeses"`
		ExpiresAt time.Time `json:"expires_at"`
		Assigned  struct {
			To   string `json:"to"`
			Team string `json:"team"`
		} `json:"assigned"`
	} `json:"approval"`
}

func (a *askedView) yeses() string {
	return fmt.Sprintf("%d of %d", len(a.Approval.Yeses), a.Approval.Quorum)
}

func newApprovalList() *cobra.Command {
	var tool, whom string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List open questions, oldest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, v := range map[string]string{"tool": tool, "for": whom} {
				if v != "" {
					q.Set(name, v)
				}
			}
			return listApprovals(c, q)
		},
	}
	c.Flags().StringVar(&tool, "tool", "", "only this tool")
	c.Flags().StringVar(&whom, "for", "", "me: what you may answer, and have not; named: what was assigned to you or a group of yours")
	c.Flags().IntVar(&limit, "limit", 50, "how many at the most")
	return c
}

func listApprovals(c *cobra.Command, q url.Values) error {
	var list struct {
		Approvals []askedView `json:"approvals"`
	}
	if done, err := ask(c, "GET", "/v1/approvals?"+q.Encode(), nil, &list); err != nil || done {
		return err
	}
	w := newTable(c.OutOrStdout(), "OPERATION", "TOOL", "REQUESTED BY", "YESES", "ASSIGNED", "EXPIRES", "KEY")
	for _, a := range list.Approvals {
		expires := "never"
		if !a.Approval.ExpiresAt.IsZero() {
			expires = a.Approval.ExpiresAt.Local().Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.ID, a.Tool, visible(a.Actor), a.yeses(), visible(strings.TrimSpace(a.Approval.Assigned.To+" "+a.Approval.Assigned.Team)), expires, visible(a.Key))
	}
	return w.Flush()
}

// showingView is what the commands read of a showing.
type showingView struct {
	Operation askedView `json:"operation"`
	Digest    string    `json:"digest"`
	Version   string    `json:"contract_version"`
	Groups    []string  `json:"groups"`
	May       []string  `json:"may"`
	Refused   string    `json:"refused"`
	Changed   string    `json:"changed"`
	Showing   struct {
		Tool           string `json:"tool"`
		Description    string `json:"description"`
		BusinessOwner  string `json:"business_owner"`
		TechnicalOwner string `json:"technical_owner"`
		RequestedBy    string `json:"requested_by"`
		EditedBy       string `json:"edited_by"`
		Run            string `json:"run"`
		Input          string `json:"input_as_text"`
		Request        struct {
			Method string `json:"method"`
			URL    string `json:"url"`
			Body   string `json:"body"`
		} `json:"request"`
		Documents []struct {
			SHA256 string `json:"sha256"`
			Name   string `json:"name"`
			URL    string `json:"url"`
		} `json:"documents"`
		Hidden []string `json:"hidden_characters"`
	} `json:"showing"`
}

func newApprovalShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show what is asked, and how to answer it", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var s showingView
			if done, err := ask(c, "GET", "/v1/operations/"+escape(args[0])+"/approval", nil, &s); err != nil || done {
				return err
			}
			s.print(c.OutOrStdout())
			return nil
		},
	}
}

func (s *showingView) print(w io.Writer) {
	q := &s.Showing
	printLine(w, "operation", s.Operation.ID)
	printLine(w, "tool", q.Tool)
	printLine(w, "description", q.Description)
	printLine(w, "owners", ownersOf(q.BusinessOwner, q.TechnicalOwner))
	printLine(w, "asked by", q.RequestedBy)
	printLine(w, "edited by", q.EditedBy)
	printLine(w, "run", q.Run)
	printLine(w, "input", q.Input)
	printLine(w, "request", strings.TrimSpace(q.Request.Method+" "+q.Request.URL))
	printLine(w, "body", q.Request.Body)
	for _, d := range q.Documents {
		printLine(w, "document", strings.TrimSpace(d.Name+" "+d.SHA256+" "+d.URL))
	}
	printLine(w, "hidden", strings.Join(q.Hidden, ", "))
	printLine(w, "approvers", strings.Join(s.Groups, ", "))
	printLine(w, "yeses", s.Operation.yeses())
	if !s.Operation.Approval.ExpiresAt.IsZero() {
		printLine(w, "expires", s.Operation.Approval.ExpiresAt.Local().Format(time.DateTime))
	}
	switch {
	case s.Changed != "":
		fmt.Fprintf(w, "\nNo answer is taken: %s.\n", visible(s.Changed))
		return
	case len(s.May) == 0:
		fmt.Fprintf(w, "\nYou may not answer: %s.\n", visible(s.Refused))
		return
	case s.Refused != "":
		fmt.Fprintf(w, "\nYou may not say yes: %s.\n", visible(s.Refused))
	}
	fmt.Fprintln(w, "\nyou may answer")
	how := map[onceward.ApprovalAct]string{
		onceward.ActGrant:  " --digest " + s.Digest + " --contract " + s.Version,
		onceward.ActEdit:   " --digest " + s.Digest + " --contract " + s.Version + " --input @FILE",
		onceward.ActReject: " --digest " + s.Digest + " --reason WHY",
		onceward.ActAssign: " --to PRINCIPAL --reason WHY",
	}
	for _, a := range s.May {
		fmt.Fprintf(w, "  onceward approval %s %s%s\n", a, s.Operation.ID, how[onceward.ApprovalAct(a)])
	}
}

// answerFlags are what a yes has to name.
type answerFlags struct{ digest, contract, reason string }

func (a *answerFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&a.digest, "digest", "", "the digest that was shown")
	c.Flags().StringVar(&a.contract, "contract", "", "the contract version that was shown")
	c.Flags().StringVar(&a.reason, "reason", "", "why; kept with the answer")
}

func (a *answerFlags) body() map[string]any {
	body := map[string]any{"digest": a.digest, "contract_version": a.contract}
	if a.reason != "" {
		body["reason"] = a.reason
	}
	return body
}

func newApprovalGrant() *cobra.Command {
	var a answerFlags
	var tool string
	c := &cobra.Command{
		Use: "grant ID --digest DIGEST --contract VERSION", Short: "Say yes to what was shown", Args: cobra.ExactArgs(1),
		Long: "The yes is for this digest under this contract version, as approval show names them, and for nothing else.\n" +
			"With --tool it may come before the operation: it is kept, and counts once that is claimed.",
		RunE: func(c *cobra.Command, args []string) error {
			body := a.body()
			if tool != "" {
				body["tool"] = tool
			}
			return approve(c, args[0], body)
		},
	}
	a.add(c)
	c.Flags().StringVar(&tool, "tool", "", "the tool of an operation that does not exist yet")
	return c
}

// approve says yes, and shows what became of it.
func approve(c *cobra.Command, id string, body map[string]any) error {
	var a struct {
		answerView
		Early bool `json:"early"`
	}
	switch done, err := ask(c, "POST", "/v1/operations/"+escape(id)+"/approve", body, &a); {
	case err != nil || done:
		return err
	case a.Early:
		fmt.Fprintln(c.OutOrStdout(), "there is no such operation yet: the yes is kept, and counts once it is claimed")
	default:
		printOperation(c.OutOrStdout(), a.answerView)
	}
	return nil
}

func newApprovalEdit() *cobra.Command {
	var a answerFlags
	var input string
	c := &cobra.Command{
		Use: "edit ID --digest DIGEST --contract VERSION --input JSON|@FILE|-", Short: "Change the input before any attempt, and say yes to that", Args: cobra.ExactArgs(1),
		Long: "The whole input is given. No field of the key can be edited: that is another intention, to be rejected and forked.\n" +
			"Yeses of others are void; a later request with the old input is answered with the edited effect.",
		RunE: func(c *cobra.Command, args []string) error {
			if input == "" {
				return usageError("--input is missing")
			}
			data, err := readInput(c, input)
			if err != nil {
				return err
			}
			body := a.body()
			body["edit"] = map[string]any{"input": data}
			return approve(c, args[0], body)
		},
	}
	a.add(c)
	c.Flags().StringVar(&input, "input", "", "the edited input: JSON, @FILE, or - for standard input")
	return c
}

func newApprovalReject() *cobra.Command {
	var digest, reason string
	c := &cobra.Command{
		Use: "reject ID --digest DIGEST --reason WHY", Short: "Say no to what was shown", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return post(c, args[0], "reject", map[string]any{"digest": digest, "reason": reason})
		},
	}
	c.Flags().StringVar(&digest, "digest", "", "the digest that was shown")
	c.Flags().StringVar(&reason, "reason", "", "why it may not happen")
	return c
}

func newApprovalAssign() *cobra.Command {
	c := newAssign("GROUP", "Hand over who has to answer")
	c.Long = "Whoever is named may answer although the contract's groups do not say so, but must be an approver. Nobody else loses the right."
	return c
}
