package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

// check is one thing that doctor looked at.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warning, error
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

func newDoctor() *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Short: "Check ledger, clocks and contracts, and say what to do", Args: cobra.NoArgs,
		Long: "Opens a connection to each host of the contracts, and sends nothing over it.\n" +
			"Exits 0 if there is no error, whatever it warns of; 7 if the ledger cannot be used or relied on, 2 if a contract cannot be.",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			checks, worst := examine(c.Context(), cfg)
			if worst == exitDone && slices.ContainsFunc(checks, func(k check) bool { return k.Status == "error" }) {
				worst = exitUnreachable // what is left is the ledger's: those of contracts have their code
			}
			if wantsJSON(c) {
				if err := json.NewEncoder(c.OutOrStdout()).Encode(map[string]any{"checks": checks}); err != nil {
					return err
				}
			} else {
				printChecks(c.OutOrStdout(), checks)
			}
			if worst != exitDone {
				return &exitError{code: worst, said: true}
			}
			return nil
		},
	}
	dbFlag(c)
	witnessFlag(c)
	keysFlags(c)
	contractsFlag(c)
	return c
}

func printChecks(w io.Writer, checks []check) {
	for _, k := range checks {
		fmt.Fprintf(w, "%-8s %-20s %s\n", k.Status, k.Name, k.Detail)
		if k.Fix != "" {
			fmt.Fprintf(w, "         %-20s %s\n", "", k.Fix)
		}
	}
}

func examine(ctx context.Context, cfg config) (checks []check, worst int) {
	add := func(k check) { checks = append(checks, k) }
	s, err := openStore(ctx, cfg.DB, false)
	if err != nil {
		add(failed("ledger", err))
		worst = exitUnreachable
	} else {
		add(check{Name: "ledger", Status: "ok", Detail: "opens, and its schema is this version's"})
		examineFile(cfg.DB, add)
		worst = examineStore(ctx, s, add)
		if code := examineInForce(ctx, s, cfg.Contracts, add); worst == exitDone {
			worst = code
		}
		if err := s.Close(); err != nil {
			add(failed("ledger", err))
		}
		if code := examineWitness(ctx, cfg, add); worst == exitDone {
			worst = code
		}
	}
	if len(cfg.Contracts) == 0 {
		add(check{Name: "contracts", Status: "warning", Detail: "none are configured", Fix: "give --contracts PATH"})
		return checks, worst
	}
	if code := examineContracts(ctx, cfg.Contracts, add); worst == exitDone {
		worst = code
	}
	return checks, worst
}

// durable is what a store can tell of its own durability settings.
type durable interface {
	Durability(ctx context.Context) ([]onceward.SettingAdvice, error)
}

// skewMax is how far clocks may differ before leases get uncomfortable.
const skewMax = 2 * time.Second

func examineStore(ctx context.Context, s onceward.Store, add func(check)) int {
	worst := exitDone
	if err := s.Check(ctx); err != nil {
		add(failed("writes", err))
		worst = exitUnreachable
	} else {
		add(check{Name: "writes", Status: "ok", Detail: "the ledger takes writes"})
	}
	began := time.Now()
	now, err := s.Now(ctx)
	switch skew := now.Sub(began.Add(time.Since(began) / 2)); {
	case err != nil:
		add(failed("clock", err))
	case skew.Abs() > skewMax:
		add(check{Name: "clock", Status: "warning", Detail: fmt.Sprintf("the database's clock differs from this machine's by %s", skew.Round(time.Millisecond)), Fix: "leases use the database's clock and are safe; synchronise both for readable times"})
	default:
		add(check{Name: "clock", Status: "ok", Detail: "the database's clock agrees with this machine's"})
	}
	examineAudit(ctx, s, add)
	examineInvariant(ctx, s, add)
	if d, ok := s.(durable); ok {
		advice, err := d.Durability(ctx)
		if err != nil {
			add(failed("durability", err))
		}
		for _, a := range advice {
			add(check{Name: a.Setting, Status: a.Status(), Detail: a.Detail, Fix: a.Fix})
		}
	}
	return worst
}

// sealLate is how old the oldest row may be that is not sealed.
const sealLate = 5 * time.Minute

// examineAudit says how far the audit trail is sealed and signed. Whether it is
// whole is what audit verify finds out: that reads all of it.
func examineAudit(ctx context.Context, s onceward.Store, add func(check)) {
	st, err := onceward.LoadAuditState(ctx, s)
	now, nerr := s.Now(ctx)
	switch {
	case err != nil || nerr != nil:
		add(failed("audit trail", errors.Join(err, nerr)))
		return
	case st.Unsealed > 0 && now.Sub(st.Oldest) > sealLate:
		add(check{Name: "audit trail", Status: "warning", Detail: fmt.Sprintf("%d rows are not sealed, the oldest since %s", st.Unsealed, st.Oldest.Format(time.RFC3339)),
			Fix: "a running server seals within a second; on PostgreSQL a transaction that stays open holds it up, and a dump that was restored into another cluster ends the chain (docs/operating/audit.md)"})
	case st.Seal == nil:
		add(check{Name: "audit trail", Status: "ok", Detail: "nothing was sealed yet"})
	default:
		add(check{Name: "audit trail", Status: "ok", Detail: fmt.Sprintf("sealed up to %s (seal %d), %d rows wait", st.Seal.At.Format(time.RFC3339), st.Seal.Number, st.Unsealed)})
	}
	switch {
	case st.Checkpoint != nil:
		add(check{Name: "audit signature", Status: "ok", Detail: fmt.Sprintf("signed up to seal %d at %s", st.Checkpoint.Number, st.Checkpoint.At.Format(time.RFC3339))})
	case st.Seal != nil:
		add(check{Name: "audit signature", Status: "warning", Detail: "the chain is not signed: whoever can write to the database could make it anew", Fix: "serve --audit-key env:NAME or file:PATH"})
	}
}

func examineContracts(ctx context.Context, paths []string, add func(check)) int {
	set, err := contract.LoadDir(paths, contractOptions())
	if err != nil {
		add(failed("contracts", err))
		return exitUsage
	}
	worst := exitDone
	add(check{Name: "contracts", Status: "ok", Detail: fmt.Sprintf("%d load; every variable and secret they name is there", len(set.Tools()))})
	found, errs := findings(set)
	for _, f := range found {
		add(check{Name: f.Tool, Status: f.Severity, Detail: fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message), Fix: f.Fix})
	}
	if errs > 0 {
		worst = exitUsage
	}
	examineSecrets(set.Tools(), add)
	examineEgress(ctx, set.Tools(), add)
	return worst
}

// examineInForce compares the contracts with those that the ledger has in force.
func examineInForce(ctx context.Context, s onceward.Store, paths []string, add func(check)) int {
	set, err := loadContracts(paths, contractOptions())
	if err != nil || len(set.tools) == 0 {
		return exitDone // examineContracts says what is wrong
	}
	if err := onceward.NewRegistry(s, contract.Compiler(contractOptions())).Check(ctx, set.tools); err != nil {
		add(failed("in force", err))
		return exitCode(err)
	}
	examineHeld(ctx, s, set.tools, add)
	add(check{Name: "in force", Status: "ok", Detail: "the ledger has no newer version of these contracts, and no key rule that they forget"})
	return exitDone
}

// examineHeld names the versions that wait for their owners.
func examineHeld(ctx context.Context, s onceward.Store, tools []onceward.Tool, add func(check)) {
	for _, t := range tools {
		i := t.Info()
		c, err := s.Contract(ctx, i.Name, i.Version)
		if onceward.Is(err, onceward.CodeToolNotFound) || err == nil && !c.Proposed {
			continue
		}
		if err != nil {
			add(failed("sign-off", err))
			continue
		}
		add(check{Name: "sign-off", Status: "warning", Detail: fmt.Sprintf("version %s of %s waits for its owners' yes: the version in force goes on", i.Version, i.Name),
			Fix: fmt.Sprintf("onceward contract history %s shows what differs and who has signed", i.Name)})
	}
}

func failed(name string, err error) check {
	k := check{Name: name, Status: "error", Detail: err.Error()}
	var e *onceward.Error
	if errors.As(err, &e) {
		k.Fix = e.Hint
	}
	return k
}
