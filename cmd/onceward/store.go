package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sealed"
	"github.com/onceward/onceward/store/sqlite"
)

// openStore opens the ledger that --db names: postgres://…, sqlite:PATH or a path.
func openStore(ctx context.Context, db string, migrate bool) (onceward.Store, error) {
	if err := existing(db, migrate); err != nil {
		return nil, err
	}
	switch scheme, _, found := strings.Cut(db, ":"); {
	case db == "":
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "open ledger", Message: "db is empty", Hint: "give --db sqlite:PATH or --db postgres://…"}
	case found && (scheme == "postgres" || scheme == "postgresql"):
		return postgres.Open(ctx, db, postgres.Options{NoMigrate: !migrate})
	case found && scheme == "sqlite":
		return sqlite.Open(ctx, strings.TrimPrefix(db, "sqlite:"), sqlite.Options{})
	case found && strings.Contains(db, "://"):
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "open ledger", Message: "the database is neither PostgreSQL nor SQLite", Hint: "give --db sqlite:PATH or --db postgres://…"}
	}
	return sqlite.Open(ctx, db, sqlite.Options{})
}

// onStore runs work on the ledger of --db as it is.
func onStore(c *cobra.Command, work func(ctx context.Context, s onceward.Store) error) error {
	cfg, err := loadConfig(c)
	if err != nil {
		return err
	}
	return withStore(c.Context(), cfg.DB, false, func(s onceward.Store) error { return work(c.Context(), s) })
}

// withStore opens a ledger for work, and closes it.
func withStore(ctx context.Context, db string, migrate bool, work func(onceward.Store) error) (err error) {
	s, err := openStore(ctx, db, migrate)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return work(s)
}

// withVault is withStore for a ledger as it is, with the master keys of the
// configuration.
func withVault(ctx context.Context, cfg config, work func(*sealed.Store) error) error {
	return withStore(ctx, cfg.DB, false, func(plain onceward.Store) error {
		s, err := sealedStore(ctx, cfg, plain)
		if err != nil {
			return err
		}
		return work(s)
	})
}

// existing refuses to look at a file that is not there: opening would make it.
func existing(db string, make bool) error {
	if make || strings.Contains(db, "://") || db == "" {
		return nil
	}
	path := strings.TrimPrefix(db, "sqlite:")
	if _, err := os.Stat(path); err != nil {
		return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: "open ledger", Message: "there is no ledger at " + path, Hint: "is --db right? onceward migrate or serve makes one"}
	}
	return nil
}
