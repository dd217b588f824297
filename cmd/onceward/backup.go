package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/sqlite"
)

// backedUp is a store that can copy itself while it is used.
type backedUp interface {
	Backup(ctx context.Context, path string) error
}

func newBackup() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "backup", Short: "Copy a SQLite ledger to a file while it is used", Args: cobra.NoArgs,
		Long: "The copy is the ledger as it was at one moment; writers go on meanwhile. It is whole and on the disk\n" +
			"once the command ends, every page and reference of it checked. Nothing is overwritten. PostgreSQL has\n" +
			"tools of its own: docs/operating/backup.md.",
		Example: "  onceward backup --db sqlite:onceward.db --out onceward-monday.db",
		RunE: func(c *cobra.Command, _ []string) error {
			if out == "" {
				return usageError("--out is missing: name the file to write")
			}
			return onStore(c, func(_ context.Context, s onceward.Store) error { return backUp(c, s, out) })
		},
	}
	dbFlag(c)
	c.Flags().StringVar(&out, "out", "", "file to write; it must not be there yet")
	return c
}

func backUp(c *cobra.Command, s onceward.Store, out string) error {
	copier, ok := s.(backedUp)
	if !ok {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "back up ledger", Message: "the ledger is on PostgreSQL, which is backed up with its own tools", Hint: "docs/operating/backup.md has the commands: pg_dump, pg_basebackup, and recovery to a point in time"}
	}
	began := time.Now()
	if err := copier.Backup(c.Context(), out); err != nil {
		return err
	}
	info, err := os.Stat(out)
	if err != nil {
		return fmt.Errorf("look at backup: %w", err)
	}
	by := onceward.LocalPrincipal()
	err = s.Note(context.WithoutCancel(c.Context()), onceward.NewAuditEvent(onceward.AuditEvent{
		Actor: by.String(), Action: onceward.AuditLedgerBackedUp, Subject: "ledger", Detail: fmt.Sprintf("%d bytes", info.Size())}))
	if err != nil {
		return err
	}
	if wantsJSON(c) {
		return printValue(c.OutOrStdout(), map[string]any{"file": out, "bytes": info.Size(), "seconds": time.Since(began).Seconds()})
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d bytes, checked\n", out, info.Size())
	return err
}

func newRestore() *cobra.Command {
	var key string
	c := &cobra.Command{
		Use: "restore FILE", Short: "Make a SQLite ledger of a backup, once it is proven to be whole", Args: cobra.ExactArgs(1),
		Long: "Checks every page and reference, the schema and the audit trail of the backup before anything stands at\n" +
			"--db, and overwrites nothing: move what is there away first, and keep it. What happened after the backup\n" +
			"is not in it: a server with a witness refuses to write until onceward recover was run.\n" +
			"Exits 8 if the audit trail is broken.",
		Example: "  onceward restore onceward-monday.db --db sqlite:onceward.db --public-key audit.pub",
		RunE: func(c *cobra.Command, args []string) error {
			public, err := auditPublicKey(key)
			if err != nil {
				return err
			}
			return restore(c, args[0], public)
		},
	}
	dbFlag(c)
	c.Flags().StringVar(&key, "public-key", "", "key that has to have signed: a PEM file, env:NAME, or 32 bytes in base64")
	return c
}

func restore(c *cobra.Command, file string, public ed25519.PublicKey) error {
	cfg, err := loadConfig(c)
	if err != nil {
		return err
	}
	path := strings.TrimPrefix(cfg.DB, "sqlite:")
	if strings.Contains(path, "://") {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "restore ledger", Message: "PostgreSQL is restored with its own tools", Hint: "docs/operating/backup.md has the commands"}
	}
	var found *onceward.AuditVerdict
	err = sqlite.Restore(c.Context(), file, path, func(s *sqlite.Store) (err error) {
		if found, err = onceward.VerifyAudit(c.Context(), s, public); err != nil {
			return err
		}
		if len(found.Faults) > 0 {
			return &exitError{code: exitBroken, said: true}
		}
		by := onceward.LocalPrincipal()
		return s.Note(c.Context(), onceward.NewAuditEvent(onceward.AuditEvent{Actor: by.String(), Action: onceward.AuditLedgerRestored, Subject: "ledger", Detail: fmt.Sprintf("%d operations, sealed up to %d", found.Operations, found.LastSeal)}))
	})
	if found == nil || err != nil && len(found.Faults) == 0 {
		return err
	}
	if wantsJSON(c) {
		if said := printValue(c.OutOrStdout(), verdictView(found)); err == nil {
			err = said
		}
		return err
	}
	if said := printVerdict(c.OutOrStdout(), found, public); err == nil {
		err = said
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), "restored; what happened after the backup is not in it: onceward recover says what to do")
	return err
}
