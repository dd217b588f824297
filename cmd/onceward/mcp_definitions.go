package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/mcpcall"
)

// newMCPDefinitions shows what servers say of their tools.
func newMCPDefinitions() *cobra.Command {
	c := &cobra.Command{
		Use: "definitions", Short: "List the tools of the MCP servers, with the digests of their definitions", Args: cobra.NoArgs,
		Long: "Asks each server of the contracts for its tools, and calls none. A digest that stands in a contract as\n" +
			"definition pins the tool: under any other nothing is sent, and approvals for the old one do not hold.",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			set, err := loadContracts(cfg.Contracts, contractOptions())
			if err != nil {
				return err
			}
			return listDefinitions(c.Context(), c, set.servers)
		},
	}
	contractsFlag(c)
	return c
}

// definitionRow is one tool of a server.
type definitionRow struct {
	Server     string `json:"server"`
	Tool       string `json:"tool"`
	Definition string `json:"definition"`
	ReadOnly   bool   `json:"read_only"`
	Hidden     bool   `json:"hidden_characters"`
}

func listDefinitions(ctx context.Context, c *cobra.Command, servers []*contract.MCPServer) error {
	wire := httpcall.New(httpcall.Options{Version: versionText()})
	defer wire.Close()
	u := &mcpServers{client: mcpcall.New(mcpcall.Options{Wire: wire, Version: versionText()})}
	defer u.client.Close()
	u.serve(servers)
	rows := []definitionRow{}
	for _, s := range servers {
		list, err := u.client.Definitions(ctx, s.Name())
		if err != nil {
			return err
		}
		for _, d := range list {
			rows = append(rows, definitionRow{s.Name(), d.Name, d.Digest, d.ReadOnly, d.Hidden})
		}
	}
	if wantsJSON(c) {
		return json.NewEncoder(c.OutOrStdout()).Encode(map[string]any{"definitions": rows})
	}
	w := newTable(c.OutOrStdout(), "SERVER", "TOOL", "SAYS", "DEFINITION")
	for _, r := range rows {
		says := "it may write"
		if r.ReadOnly {
			says = "it only reads"
		}
		if r.Hidden {
			says += ", in hidden characters too"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Server, visible(r.Tool), says, r.Definition)
	}
	return w.Flush()
}
