package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/httpapi"
)

// newToken makes the token commands. They work on the ledger's database, as
// migrate does, for whoever may open that; or, with --server, as whoever asks.
func newToken() *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Issue, list and revoke tokens"}
	serverFlag(c)
	c.PersistentFlags().String("db", defaultDB, "ledger: sqlite:PATH, a path, or postgres://… (ONCEWARD_DB)")
	c.PersistentFlags().String("tenant", string(onceward.DefaultTenant), "whose token it is; with --server it is the asker's tenant")
	c.AddCommand(newTokenCreate(), newTokenList(), newTokenRevoke())
	return c
}

const tokenPlace = "It works on the ledger's database. With --server, it asks a server, with the rights of the token that it asks with."

func newTokenCreate() *cobra.Command {
	var in httpapi.TokenRequest
	var lifetime time.Duration
	var note string
	c := &cobra.Command{
		Use: "create --subject WHO --role ROLE", Short: "Issue a token, and print its secret this once", Args: cobra.NoArgs,
		Long: "Prints the token alone, so that it can go into a file; only its hash is kept. " + tokenPlace,
		Example: "  onceward token create --subject ada --role admin --role operator --role caller --group '*'\n" +
			"  onceward token create --subject triage-agent --role caller --tool tickets.create --effect probed_write --lifetime 24h",
		RunE: func(c *cobra.Command, _ []string) error {
			in.Note = &note
			issued, err := createToken(c, &in, lifetime)
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				return printValue(c.OutOrStdout(), issued)
			}
			t := &issued.Token
			fmt.Fprintf(c.ErrOrStderr(), "token %s of %s in tenant %s: %s, until %s. It is shown this once.\n", t.ID, t.Subject, t.Tenant, strings.Join(t.Roles, ", "), t.ExpiresAt.Format(time.RFC3339))
			_, err = fmt.Fprintln(c.OutOrStdout(), issued.Secret)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&in.Subject, "subject", "", "who the bearer is; tokens of one subject are one principal")
	f.StringSliceVar(&in.Roles, "role", nil, "caller, approver, operator, auditor or admin; repeated for more")
	f.StringSliceVar(&in.Groups, "group", nil, "team that it acts for; * is every one")
	f.StringSliceVar(&in.Tools, "tool", nil, "narrow it to this tool; repeated for more")
	f.StringSliceVar(&in.Effects, "effect", nil, "narrow it to this effect class; repeated for more")
	f.DurationVar(&lifetime, "lifetime", onceward.TokenLifetime, "how long it holds, 8784h at most")
	f.StringVar(&note, "note", "", "what it is for")
	return c
}

func createToken(c *cobra.Command, in *httpapi.TokenRequest, lifetime time.Duration) (*httpapi.IssuedToken, error) {
	var issued httpapi.IssuedToken
	if c.Flags().Changed("server") {
		_, err := asked(c, "POST", "/v1/tokens", struct {
			*httpapi.TokenRequest
			Lifetime string `json:"lifetime"`
		}{in, lifetime.String()}, &issued)
		return &issued, err
	}
	r, err := in.Asked(lifetime)
	if err != nil {
		return nil, err
	}
	return &issued, onLedger(c, true, func(ctx context.Context, s onceward.Store, by onceward.Principal, now time.Time) error {
		t, secret, err := onceward.NewToken(by, r, now)
		if err != nil {
			return err
		}
		issued = httpapi.IssuedToken{Token: httpapi.ShowToken(&t), Secret: secret}
		return s.PutToken(ctx, t, onceward.TokenIssued(&t))
	})
}

func newTokenList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tenant's tokens, those that do not hold any more included", Args: cobra.NoArgs, Long: tokenPlace,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := allTokens(c)
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				return printValue(c.OutOrStdout(), &httpapi.TokenPage{Tokens: all})
			}
			w := newTable(c.OutOrStdout(), "ID", "SUBJECT", "ROLES", "FOR", "EXPIRES", "LAST USED", "NOTE")
			for i := range all {
				t := &all[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Subject, strings.Join(t.Roles, ","), narrowing(t), expiry(t), orDash(t.LastUsedAt), t.Note)
			}
			return w.Flush()
		},
	}
}

func narrowing(t *httpapi.Token) string {
	if all := append(append([]string{}, t.Tools...), t.Effects...); len(all) > 0 {
		return strings.Join(all, ",")
	}
	return "everything"
}

func expiry(t *httpapi.Token) string {
	if t.RevokedBy != "" {
		return "revoked by " + t.RevokedBy
	}
	return t.ExpiresAt.Format(time.DateOnly)
}

func orDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("2006-01-02 15h")
}

// allTokens reads every page.
func allTokens(c *cobra.Command) ([]httpapi.Token, error) {
	all := []httpapi.Token{}
	if c.Flags().Changed("server") {
		for after := ""; ; {
			var page httpapi.TokenPage
			path := fmt.Sprintf("/v1/tokens?limit=%d", onceward.TokenPageMax)
			if after != "" {
				path += "&after=" + after
			}
			if _, err := asked(c, "GET", path, nil, &page); err != nil {
				return nil, err
			}
			all = append(all, page.Tokens...)
			if after = page.Next; after == "" {
				return all, nil
			}
		}
	}
	err := onLedger(c, false, func(ctx context.Context, s onceward.Store, by onceward.Principal, _ time.Time) error {
		for after := onceward.TokenID(""); ; {
			page, err := s.ListTokens(ctx, by.Tenant, after, onceward.TokenPageMax)
			if err != nil || len(page) == 0 {
				return err
			}
			for i := range page {
				all = append(all, httpapi.ShowToken(&page[i]))
				after = page[i].ID
			}
		}
	})
	return all, err
}

func newTokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a token now, on every replica within a second", Args: cobra.ExactArgs(1), Long: tokenPlace,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := onceward.ParseTokenID(args[0])
			if err != nil {
				return err
			}
			var answer httpapi.TokenAnswer
			if c.Flags().Changed("server") {
				_, err = asked(c, "DELETE", "/v1/tokens/"+string(id), nil, &answer)
			} else {
				err = onLedger(c, false, func(ctx context.Context, s onceward.Store, by onceward.Principal, now time.Time) error {
					t, err := onceward.Revoke(ctx, s, by, id, now)
					if err != nil {
						return err
					}
					answer.Token = httpapi.ShowToken(t)
					return nil
				})
			}
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				return printValue(c.OutOrStdout(), &answer)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: revoked by %s\n", id, answer.Token.RevokedBy)
			return err
		},
	}
}

// onLedger works on the database, as the local operator in the tenant that is named.
func onLedger(c *cobra.Command, create bool, work func(context.Context, onceward.Store, onceward.Principal, time.Time) error) error {
	cfg, err := loadConfig(c)
	if err != nil {
		return err
	}
	name, err := c.Flags().GetString("tenant")
	if err != nil {
		return err
	}
	by := onceward.LocalPrincipal()
	if by.Tenant, err = onceward.ParseTenant(name); err != nil {
		return err
	}
	return withStore(c.Context(), cfg.DB, create, func(s onceward.Store) error {
		now, err := s.Now(c.Context())
		if err != nil {
			return err
		}
		return work(c.Context(), s, by, now)
	})
}

func printValue(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return printJSON(w, data)
}
