package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/archive"
	"github.com/onceward/onceward/internal/httpapi"
	"github.com/onceward/onceward/store/sealed"
)

// sealedStore puts encryption in front of a store, with the master keys of the
// configuration. CodeKeysMissing: they are not all there.
func sealedStore(ctx context.Context, cfg config, s onceward.Store) (*sealed.Store, error) {
	opts := sealed.Options{Shredded: cfg.Keys.Shredded}
	if cfg.Keys.Master != "" {
		text, err := masterKeys.read(cfg.Keys.Master)
		if err != nil {
			return nil, err
		}
		if opts.Keys, err = sealed.ParseKeyRing(text); err != nil {
			return nil, err
		}
	}
	return sealed.Open(ctx, s, opts)
}

// masterKeys is how the file of master keys is read.
var masterKeys = keyText{op: "read master keys", risk: "can read what is encrypted", hint: "one key a line, as onceward key new prints it"}

// keysConfig is what encrypts the bodies of operations.
type keysConfig struct {
	Master   string `yaml:"master"`   // env:NAME or file:PATH; empty: none
	Shredded string `yaml:"shredded"` // list of data keys that were shredded; empty: none
}

func keysFlags(c *cobra.Command) {
	c.Flags().String("keys", "", "master keys that wrap data keys, one a line, the first wraps: env:NAME or file:PATH (ONCEWARD_KEYS)")
	c.Flags().String("shredded", "", "file outside of the database that lists shredded data keys, so that no backup brings one back (ONCEWARD_SHREDDED)")
}

func newKey() *cobra.Command {
	c := &cobra.Command{Use: "key", Short: "Make a master key, list and rotate keys, shred a subject's data"}
	serverFlag(c)
	c.AddCommand(newKeyNew(), newKeyList(), newKeyRotate(), newKeyShred(), newKeyOpen())
	return c
}

func newKeyNew() *cobra.Command {
	return &cobra.Command{
		Use: "new", Short: "Print a new master key as a line of a key file", Args: cobra.NoArgs,
		Long:    "To rotate, put a new one in front of the others, restart every server, then onceward key rotate.",
		Example: "  (umask 077; onceward key new > keys)\n  onceward serve --keys file:keys --shredded shredded",
		RunE: func(c *cobra.Command, _ []string) error {
			key := sealed.NewMasterKey()
			if wantsJSON(c) {
				return printValue(c.OutOrStdout(), map[string]string{"key": key})
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), key)
			return err
		},
	}
}

func newKeyList() *cobra.Command {
	var subject string
	c := &cobra.Command{
		Use: "list", Short: "List master keys by name and the tenant's data keys, never a key itself", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			path := fmt.Sprintf("/v1/keys?limit=%d", onceward.DataKeyPageMax)
			if subject != "" {
				path += "&subject=" + url.QueryEscape(subject)
			}
			var list httpapi.KeyList
			all := []httpapi.DataKey{}
			for after := ""; ; {
				page := httpapi.KeyList{}
				if _, err := asked(c, "GET", path+after, nil, &page); err != nil {
					return err
				}
				all = append(all, page.DataKeys...)
				if list = page; page.Next == "" {
					break
				}
				after = "&after=" + page.Next
			}
			if list.DataKeys = all; wantsJSON(c) {
				return printValue(c.OutOrStdout(), &list)
			}
			return printKeys(c, &list)
		},
	}
	c.Flags().StringVar(&subject, "subject", "", "those of a subject, by name")
	return c
}

func printKeys(c *cobra.Command, list *httpapi.KeyList) error {
	out := c.OutOrStdout()
	for i, name := range list.Masters {
		fmt.Fprintf(out, "master key %s%s\n", name, map[bool]string{true: ", which wraps"}[i == 0])
	}
	printUses(c, list.Uses)
	w := newTable(out, "DATA KEY", "SUBJECT", "MASTER", "STATE")
	for i := range list.DataKeys {
		k := &list.DataKeys[i]
		state := "in use"
		switch {
		case !k.ShreddedAt.IsZero():
			state = "shredded " + shortTime(k.ShreddedAt)
		case !k.ClosedAt.IsZero():
			state = "closed " + shortTime(k.ClosedAt)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.ID, k.SubjectID, k.Master, state)
	}
	return w.Flush()
}

func printUses(c *cobra.Command, uses []httpapi.MasterUse) {
	for _, u := range uses {
		fmt.Fprintf(c.OutOrStdout(), "%s wraps %d data keys\n", u.Master, u.DataKeys)
	}
}

func newKeyRotate() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Wrap every data key by the server's first master key, while it serves", Args: cobra.NoArgs,
		Long: "What the data keys encrypt is not touched. Once no data key is wrapped by an old master key any more, and no backup that\n" +
			"needs it is wanted, take it out of the key file and destroy it: what was shredded before is then out of reach of old backups, too.",
		RunE: func(c *cobra.Command, _ []string) error {
			answer, rotated := httpapi.RotationAnswer{More: true}, 0
			for answer.More {
				answer = httpapi.RotationAnswer{}
				if _, err := asked(c, "POST", "/v1/keys/rotate", nil, &answer); err != nil {
					return err
				}
				rotated += answer.Rotated
			}
			answer.Rotated = rotated
			if wantsJSON(c) {
				body, err := json.Marshal(&answer)
				if err != nil {
					return err
				}
				return printJSON(c.OutOrStdout(), body)
			}
			fmt.Fprintf(c.OutOrStdout(), "%d data keys wrapped anew by %s\n", rotated, strings.Join(answer.Masters[:min(1, len(answer.Masters))], ""))
			printUses(c, answer.Uses)
			return nil
		},
	}
}

func newKeyShred() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "shred SUBJECT --reason WHY", Short: "Make the encrypted bodies of a subject's operations unreadable for good", Args: cobra.ExactArgs(1),
		Long: "SUBJECT is the name that the contracts' keep.subject gives. Key, digest, state and reference stay, so that a repeat is still\n" +
			"known. It cannot be undone. While something of the subject has not ended, or is held, it is refused.",
		RunE: func(c *cobra.Command, args []string) error {
			var answer httpapi.ShredAnswer
			if done, err := ask(c, "POST", "/v1/subjects/shred", map[string]any{"subject": args[0], "reason": reason}, &answer); err != nil || done {
				return err
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s: %d data keys shredded\n", answer.SubjectID, answer.Shredded)
			return err
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why")
	return c
}

// newKeyOpen makes the command that reads what was exported encrypted.
func newKeyOpen() *cobra.Command {
	c := &cobra.Command{
		Use: "open FILE", Short: "Print an export with what is encrypted in it decrypted, as far as its data keys are there", Args: cobra.ExactArgs(1),
		Long: "It works on the ledger's database, which has the data keys, with the master keys of --keys. Each line gets opened, with input, request\n" +
			"and result, or shredded: true. What it prints is in clear.",
		Example: "  onceward key open exports/2026-11-30-1a2b3c4d-093000.000000.jsonl --db onceward.db --keys file:keys",
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			f, err := os.Open(args[0])
			if err != nil {
				return usageError("%v", err)
			}
			defer func() { _ = f.Close() }()
			return withVault(c.Context(), cfg, func(s *sealed.Store) error { return archive.Reveal(c.Context(), s, f, c.OutOrStdout()) })
		},
	}
	dbFlag(c)
	keysFlags(c)
	return c
}
