package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/witness"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/mcpcall"
	"github.com/onceward/onceward/store/sealed"
)

func newRecover() *cobra.Command {
	var reason, confirm, tenant string
	var cleared []string
	c := &cobra.Command{
		Use: "recover", Short: "Say what a restored ledger lacks, and open it again", Args: cobra.NoArgs,
		Long: "Compares the ledger with its witness, lists the providers' objects where a contract says how (audit:), and\n" +
			"says what becomes of lost operations that are asked for again. With --reason and the sentence that it\n" +
			"prints it records the gap, and servers take writes within a second. Until a tool's horizon is over, each\n" +
			"of its operations that may have been attempted in the gap is looked up, sent again under the same key,\n" +
			"or shown to a person first; --clear ends that for tools that you have accounted for at the provider.",
		Example: "  onceward recover --db sqlite:onceward.db\n  onceward recover --reason 'restored after the disk died' --confirm 'I accept …'\n  onceward recover --clear fax.send --reason 'compared with the fax log'",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			return onQuietLedger(c.Context(), cfg, func(l *onceward.Ledger) error {
				return recoverLedger(c, l, onceward.Tenant(tenant), reason, confirm, cleared)
			})
		},
	}
	dbFlag(c)
	witnessFlag(c)
	keysFlags(c)
	f := c.Flags()
	f.StringVar(&reason, "reason", "", "why it is opened again; noted in the audit trail")
	f.StringVar(&confirm, "confirm", "", "the sentence that the command prints, word for word")
	f.StringSliceVar(&cleared, "clear", nil, "tools whose lost operations are accounted for")
	f.StringVar(&tenant, "tenant", string(onceward.DefaultTenant), "tenant for whom listings are rendered")
	return c
}

// onQuietLedger opens the ledger with its witness, starts nothing and puts no
// contract in force.
func onQuietLedger(ctx context.Context, cfg config, fn func(l *onceward.Ledger) error) error {
	return withVault(ctx, cfg, func(s *sealed.Store) error { return onQuietStore(ctx, cfg, s, fn) })
}

func onQuietStore(ctx context.Context, cfg config, s *sealed.Store, fn func(l *onceward.Ledger) error) (err error) {
	w, err := openWitness(cfg)
	if err != nil {
		return err
	}
	client := httpcall.New(httpcall.Options{Version: versionText()})
	defer client.Close()
	servers := mcpcall.New(mcpcall.Options{Wire: client, Version: versionText(), Log: slog.New(slog.DiscardHandler)})
	defer servers.Close()
	opts := onceward.Options{Store: s, Sealer: s, Tools: onceward.NewRegistry(s, contract.Compiler(contractOptions())), Provider: switchboard{http: client, mcp: servers}}
	if w != nil {
		defer func() { err = errors.Join(err, w.Close()) }()
		opts.Witness = w
	}
	l, err := onceward.New(opts)
	if err != nil {
		return err
	}
	if err := l.LookBehind(ctx); err != nil {
		return err
	}
	return errors.Join(fn(l), l.Close(ctx))
}

// openWitness opens the witness of the configuration; nil: there is none.
func openWitness(cfg config) (*witness.File, error) {
	path := cfg.witnessFile()
	if path == "" {
		return nil, nil
	}
	return witness.Open(path)
}

func recoverLedger(c *cobra.Command, l *onceward.Ledger, tenant onceward.Tenant, reason, confirm string, cleared []string) error {
	plan, err := l.PlanRecovery(c.Context(), tenant)
	if err != nil {
		return err
	}
	if reason == "" && confirm == "" && len(cleared) == 0 {
		if wantsJSON(c) {
			return printValue(c.OutOrStdout(), recoveryView(plan))
		}
		return printRecovery(c.OutOrStdout(), plan)
	}
	tools := make([]onceward.ToolName, len(cleared))
	for i := range cleared {
		tools[i] = onceward.ToolName(cleared[i])
	}
	g, err := l.Recover(c.Context(), onceward.LocalPrincipal(), plan, reason, confirm, tools)
	if err != nil {
		return err
	}
	if wantsJSON(c) {
		return printValue(c.OutOrStdout(), gapView(*g))
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "open: the gap from %s until %s is recorded, and servers take writes\n", sinceText(g.Since), g.Until.Format(time.RFC3339))
	return err
}

// recovery is a plan as JSON.
type recovery struct {
	Behind   bool           `json:"behind"`
	Message  string         `json:"message,omitempty"`
	Since    time.Time      `json:"since,omitzero"`
	Lost     []lostDispatch `json:"lost"`
	Gaps     []gapJSON      `json:"gaps"`
	Tools    []lostTool     `json:"tools"`
	Sentence string         `json:"sentence,omitempty"`
}

type lostDispatch struct {
	Operation string    `json:"operation"`
	Attempt   int       `json:"attempt"`
	Tool      string    `json:"tool"`
	At        time.Time `json:"at"`
}

type gapJSON struct {
	Since   time.Time           `json:"since,omitzero"`
	Until   time.Time           `json:"until"`
	Lost    int                 `json:"lost"`
	Cleared []onceward.ToolName `json:"cleared,omitempty"`
	By      string              `json:"by"`
	Reason  string              `json:"reason"`
}

type lostTool struct {
	Tool        string   `json:"tool"`
	Effect      string   `json:"effect"`
	Way         string   `json:"way"`
	Listed      bool     `json:"listed"`
	ListError   string   `json:"list_error,omitempty"`
	Unexplained []string `json:"unexplained,omitempty"`
	Sure        bool     `json:"sure"`
}

func gapView(g onceward.Gap) gapJSON { return gapJSON(g) }

func recoveryView(r *onceward.Recovery) recovery {
	out := recovery{Behind: r.Refused != nil, Since: r.Since, Lost: []lostDispatch{}, Gaps: []gapJSON{}, Tools: []lostTool{}}
	if r.Refused != nil {
		out.Message, out.Sentence = r.Refused.Error(), r.Sentence
	}
	for _, d := range r.Lost {
		out.Lost = append(out.Lost, lostDispatch{d.Operation.String(), d.Attempt, string(d.Tool), d.At})
	}
	for _, g := range r.Gaps {
		out.Gaps = append(out.Gaps, gapView(g))
	}
	for _, t := range r.Tools {
		lost := lostTool{Tool: string(t.Tool), Effect: t.Effect.String(), Way: t.Way, Listed: t.Listed, ListError: t.ListError, Sure: t.Sure}
		for _, o := range t.Unexplained {
			lost.Unexplained = append(lost.Unexplained, o.Reference)
		}
		out.Tools = append(out.Tools, lost)
	}
	return out
}

func sinceText(at time.Time) string {
	if at.IsZero() {
		return "the beginning"
	}
	return at.UTC().Format(time.RFC3339)
}

// lostShown is how many lost dispatches are printed.
const lostShown = 20

func printRecovery(out io.Writer, r *onceward.Recovery) error {
	w := bufio.NewWriter(out)
	for _, g := range r.Gaps {
		fmt.Fprintf(w, "gap      %s to %s, opened by %s: %s\n", sinceText(g.Since), g.Until.UTC().Format(time.RFC3339), visible(g.By), visible(g.Reason))
	}
	if r.Refused == nil {
		fmt.Fprintln(w, "open     the ledger knows every dispatch that its witness saw")
	} else {
		fmt.Fprintf(w, "refused  %s\n", r.Refused.Error())
	}
	for i := range r.Lost[:min(len(r.Lost), lostShown)] {
		d := &r.Lost[i]
		fmt.Fprintf(w, "lost     %s  %s  attempt %d  %s\n", d.At.UTC().Format(time.RFC3339), d.Operation, d.Attempt, visible(string(d.Tool)))
	}
	if more := len(r.Lost) - lostShown; more > 0 {
		fmt.Fprintf(w, "         and %d more\n", more)
	}
	for _, t := range r.Tools {
		printLostTool(w, t)
	}
	if r.Refused != nil {
		fmt.Fprintf(w, "\nNot known: what was sent before the newest %d dispatches, and since %s; who was answered what; approvals, switches,\n", witness.Kept, sinceText(r.Since))
		fmt.Fprintln(w, "tokens and contracts of that time: tokens that were revoked are good again, tools that were paused run.")
		fmt.Fprintf(w, "To open it: onceward recover --reason '…' --confirm '%s'\n", r.Sentence)
	}
	return w.Flush()
}

func printLostTool(w io.Writer, t onceward.ToolRecovery) {
	fmt.Fprintf(w, "tool     %s (%s): asked for again, it is %s\n", visible(string(t.Tool)), t.Effect, t.Way)
	switch {
	case t.ListError != "":
		fmt.Fprintf(w, "         its objects could not be listed: %s\n", visible(t.ListError))
	case !t.Listed:
		fmt.Fprintln(w, "         its contract does not say how its objects are listed")
	case len(t.Unexplained) == 0:
		fmt.Fprintln(w, "         an operation explains each object that the provider lists")
	default:
		fmt.Fprintf(w, "         %d objects that no operation explains", len(t.Unexplained))
		if !t.Sure {
			fmt.Fprint(w, ", and operations whose effect is not known could")
		}
		for _, o := range t.Unexplained {
			fmt.Fprintf(w, "\n           %s", visible(o.Reference))
		}
		fmt.Fprintln(w)
	}
}

// examineWitness says whether the ledger is older than its own dispatches.
func examineWitness(ctx context.Context, cfg config, add func(check)) int {
	path := cfg.witnessFile()
	if path == "" {
		add(check{Name: "witness", Status: "warning", Detail: "there is none: a ledger that is restored from an old backup is not found out", Fix: "serve --witness FILE, on a disk that is not restored together with the database"})
		return exitDone
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		add(check{Name: "witness", Status: "ok", Detail: path + " is not there yet: serve makes it"})
		return exitDone
	}
	worst := exitDone
	err := onQuietLedger(ctx, cfg, func(l *onceward.Ledger) error {
		if err := l.Refusal(); err != nil {
			add(failed("witness", err))
			worst = exitUnreachable
			return nil
		}
		add(check{Name: "witness", Status: "ok", Detail: "the ledger knows every dispatch that " + path + " names"})
		return nil
	})
	if err != nil {
		add(failed("witness", err))
		return exitCode(err)
	}
	return worst
}
