package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
)

func newMigrate() *cobra.Command {
	c := &cobra.Command{
		Use: "migrate", Short: "Bring the ledger's schema up to this version", Args: cobra.NoArgs,
		Long: "serve does this by itself. Run it first where the server's own account may not change the schema.\nMigrations go forward only; running it again changes nothing.",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			if err := withStore(c.Context(), cfg.DB, true, func(onceward.Store) error { return nil }); err != nil {
				return err
			}
			if wantsJSON(c) {
				return json.NewEncoder(c.OutOrStdout()).Encode(map[string]bool{"migrated": true})
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), "the ledger's schema is up to date")
			return err
		},
	}
	dbFlag(c)
	return c
}
