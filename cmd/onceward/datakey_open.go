package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
)

// newKeyOpen makes the command that reads what was exported encrypted. It works on
// the ledger's database, which has the data keys.
func newKeyOpen() *cobra.Command {
	c := &cobra.Command{
		Use: "open FILE", Short: "Print an export with what is encrypted in it decrypted, as far as its data keys are there", Args: cobra.ExactArgs(1),
		Long: "It works on the ledger's database, which has the data keys, with the master keys of --keys. Each line gets opened, with input, request\n" +
			"and result, or shredded: true. What it prints is in clear.",
		Example: "  onceward key open exports/2026-11-30-1a2b3c4d-093000.000000.jsonl --db onceward.db --keys file:keys",
		RunE: func(c *cobra.Command, args []string) (err error) {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			plain, err := openStore(c.Context(), cfg.DB, false)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, plain.Close()) }()
			vault, err := sealedStore(c.Context(), cfg, plain)
			if err != nil {
				return err
			}
			f, err := os.Open(args[0])
			if err != nil {
				return usageError("%s cannot be read", args[0])
			}
			defer func() { _ = f.Close() }()
			return openExport(c.Context(), vault, f, c.OutOrStdout())
		},
	}
	dbFlag(c)
	keysFlags(c)
	return c
}

// openExport copies the lines, and opens what is encrypted in them.
func openExport(ctx context.Context, keys onceward.Sealer, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a last line that is not whole was never said to be taken
			return nil
		}
		if err != nil {
			return fmt.Errorf("read export: %w", err)
		}
		if line, err = opened(ctx, keys, line); err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
}

func opened(ctx context.Context, keys onceward.Sealer, line []byte) ([]byte, error) {
	var head struct {
		Operation  string
		Tenant     onceward.Tenant
		Generation onceward.Generation
		Subject    onceward.SubjectID `json:"subject_id"`
		Sealed     []byte
	}
	all := map[string]any{}
	if err := errors.Join(json.Unmarshal(line, &head), json.Unmarshal(line, &all)); err != nil {
		return nil, onceward.Errorf(onceward.CodeInvalidRequest, "a line is no export of onceward serve --export")
	}
	if head.Sealed == nil {
		return json.Marshal(all)
	}
	id, err := onceward.ParseOperationID(head.Operation)
	if err != nil {
		return nil, err
	}
	op := &onceward.Operation{ID: id, Tenant: head.Tenant, Generation: head.Generation, Subject: head.Subject, Sealed: head.Sealed}
	if err := keys.Reveal(ctx, op); err != nil {
		return nil, err
	}
	delete(all, "sealed")
	if op.Shredded {
		all["shredded"] = true
		return json.Marshal(all)
	}
	in := map[string]any{"input": readable(op.Input)}
	if op.Request != nil {
		in["request"] = map[string]any{"method": op.Request.Method, "url": op.Request.URL, "body": readable(op.Request.Body)}
	}
	if op.Result != nil {
		in["result"] = map[string]any{"status": op.Result.Status, "body": readable(op.Result.Body)}
	}
	all["opened"] = in
	return json.Marshal(all)
}

// readable is bytes as text where they are, else as base64 that JSON makes of them.
func readable(b []byte) any {
	if utf8.Valid(b) {
		return string(b)
	}
	return b
}
