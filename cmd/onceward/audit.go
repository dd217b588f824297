package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/httpapi"
)

func newAudit() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Read, verify and export who did what, when and why"}
	c.AddCommand(newAuditList(), newAuditVerify(), newAuditExport())
	return c
}

func newAuditList() *cobra.Command {
	var from, to, after string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List who did what, when and why, oldest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, v := range map[string]string{"from": from, "to": to, "after": after} {
				if v != "" {
					q.Set(name, v)
				}
			}
			var page httpapi.AuditPage
			if done, err := ask(c, "GET", "/v1/audit?"+q.Encode(), nil, &page); err != nil || done {
				return err
			}
			return printAudit(c, &page)
		},
	}
	serverFlag(c)
	f := c.Flags()
	f.StringVar(&from, "from", "", "not before this time, as 2026-01-02T15:04:05Z")
	f.StringVar(&to, "to", "", "before this time")
	f.StringVar(&after, "after", "", "go on after a page: the word that it ended with")
	f.IntVar(&limit, "limit", 100, "how many lines at most")
	return c
}

func printAudit(c *cobra.Command, page *httpapi.AuditPage) error {
	w := newTable(c.OutOrStdout(), "AT", "WHO", "DID", "TO", "DETAIL", "WHY")
	for _, e := range page.Events {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.At.Format(time.RFC3339), visible(e.Actor), visible(e.Action), visible(e.Subject), visible(e.Detail), visible(e.Reason))
	}
	return endPage(c, w, page.Next)
}

func newAuditVerify() *cobra.Command {
	var file, key string
	c := &cobra.Command{
		Use: "verify", Short: "Verify the audit trail, and name the place where it is broken", Args: cobra.NoArgs,
		Long: "Checks the chain of seals, every sealed row, every signature, and every operation against what the\n" +
			"journal says of it; it may run beside a server. Rows that are not sealed yet are told, and are no fault.\n" +
			"Exits 0 if the trail is whole, 8 if it is not.",
		Example: "  onceward audit verify --db postgres://onceward@localhost/onceward --public-key audit.pub\n  onceward audit verify --file trail.jsonl --public-key audit.pub",
		RunE: func(c *cobra.Command, _ []string) error {
			public, err := auditPublicKey(key)
			if err != nil {
				return err
			}
			v, err := verifyAudit(c, file, public)
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				err = printValue(c.OutOrStdout(), verdictView(v))
			} else {
				err = printVerdict(c.OutOrStdout(), v, public)
			}
			if err == nil && len(v.Faults) > 0 {
				err = &exitError{code: exitBroken, said: true}
			}
			return err
		},
	}
	dbFlag(c)
	c.Flags().StringVar(&file, "file", "", "an exported trail instead of a ledger")
	c.Flags().StringVar(&key, "public-key", "", "key that has to have signed: a PEM file, env:NAME, or 32 bytes in base64")
	return c
}

func verifyAudit(c *cobra.Command, file string, public ed25519.PublicKey) (*onceward.AuditVerdict, error) {
	if file != "" {
		trail, faults, err := readTrail(file)
		if err != nil {
			return nil, err
		}
		v, err := onceward.VerifyAudit(c.Context(), trail, public)
		if err == nil {
			v.Faults = append(faults, v.Faults...)
		}
		return v, err
	}
	var v *onceward.AuditVerdict
	return v, onStore(c, func(_ context.Context, s onceward.Store) (err error) {
		v, err = onceward.VerifyAudit(c.Context(), s, public)
		return err
	})
}

// verdict is what a verification found, as JSON.
type verdict struct {
	Whole       bool      `json:"whole"`
	Faults      []fault   `json:"faults"`
	Cut         bool      `json:"cut,omitempty"`
	Seals       int       `json:"seals"`
	FirstSeal   int64     `json:"first_seal"`
	LastSeal    int64     `json:"last_seal"`
	SealedRows  int       `json:"sealed_rows"`
	Unsealed    int       `json:"unsealed_rows"`
	Checkpoints int       `json:"checkpoints"`
	SignedTo    int64     `json:"signed_to"`
	SignedAt    time.Time `json:"signed_at,omitzero"`
	Keys        []string  `json:"keys"`
	Operations  int       `json:"operations"`
	Uncovered   int       `json:"uncovered_operations"`
	Aside       bool      `json:"operations_not_compared,omitempty"`
}

type fault struct {
	Table    string `json:"table"`
	Row      string `json:"row"`
	Problem  string `json:"problem"`
	Expected string `json:"expected,omitempty"`
	Found    string `json:"found,omitempty"`
}

func verdictView(v *onceward.AuditVerdict) verdict {
	out := verdict{Whole: len(v.Faults) == 0, Faults: []fault{}, Cut: v.Cut, Seals: v.Seals, FirstSeal: v.FirstSeal, LastSeal: v.LastSeal, SealedRows: v.SealedRows,
		Unsealed: v.Unsealed, Checkpoints: v.Checkpoints, SignedTo: v.SignedTo, SignedAt: v.SignedAt, Keys: append([]string{}, v.Keys...), Operations: v.Operations, Uncovered: v.Uncovered, Aside: v.Aside}
	for _, f := range v.Faults {
		out.Faults = append(out.Faults, fault(f))
	}
	return out
}

func printVerdict(w io.Writer, v *onceward.AuditVerdict, public ed25519.PublicKey) error {
	b := bufio.NewWriter(w)
	for _, f := range v.Faults {
		fmt.Fprintln(b, "BROKEN  "+visible(f.String()))
	}
	if v.Cut {
		fmt.Fprintln(b, "        and more")
	}
	fmt.Fprintf(b, "chain   %d seals over %d rows", v.Seals, v.SealedRows)
	if v.FirstSeal > 1 {
		fmt.Fprintf(b, ", from seal %d on: what was before it is not here", v.FirstSeal)
	}
	fmt.Fprintf(b, "\ntail    %d rows are not sealed yet\n", v.Unsealed)
	switch {
	case v.SignedTo == 0:
		fmt.Fprintln(b, "signed  nothing: whoever can write to the database could make the whole chain anew; serve --audit-key signs it")
	case public == nil:
		fmt.Fprintf(b, "signed  up to seal %d at %s by %s; --public-key demands your key\n", v.SignedTo, v.SignedAt.Format(time.RFC3339), strings.Join(v.Keys, ", "))
	default:
		fmt.Fprintf(b, "signed  up to seal %d at %s by the key that was given\n", v.SignedTo, v.SignedAt.Format(time.RFC3339))
	}
	if v.Aside {
		fmt.Fprintln(b, "rows    operations are not in a file: verify the ledger to compare them")
	} else {
		fmt.Fprintf(b, "rows    %d operations are as the journal says", v.Operations)
		if v.Uncovered > 0 {
			fmt.Fprintf(b, "; of %d it tells no hash", v.Uncovered)
		}
		fmt.Fprintln(b)
	}
	if len(v.Faults) == 0 {
		fmt.Fprintln(b, "whole")
	}
	return b.Flush()
}

func newAuditExport() *cobra.Command {
	var from, to, out string
	c := &cobra.Command{
		Use: "export", Short: "Write the sealed trail with seals and signatures, so that it can be verified elsewhere", Args: cobra.NoArgs,
		Long: "JSON lines: a head, then each seal followed by the rows that it covers, and the checkpoints. Whole seals\n" +
			"are written, of every tenant. That it was exported is noted in the trail.",
		Example: "  onceward audit export --from 2026-01-01T00:00:00Z --out trail.jsonl",
		RunE: func(c *cobra.Command, _ []string) error {
			span, err := parseSpan(from, to)
			if err != nil {
				return err
			}
			return onStore(c, func(_ context.Context, s onceward.Store) error { return exportAudit(c, s, span, out) })
		},
	}
	dbFlag(c)
	f := c.Flags()
	f.StringVar(&from, "from", "", "from the first seal made after this time, as 2026-01-02T15:04:05Z")
	f.StringVar(&to, "to", "", "up to the last seal made before this time")
	f.StringVar(&out, "out", "", "file to write; it must not be there yet. Default: standard output")
	return c
}

func exportAudit(c *cobra.Command, s onceward.Store, within span, path string) error {
	seals, rows := 0, 0
	err := writeOut(c, path, func(w io.Writer) (err error) {
		b := bufio.NewWriter(w)
		if seals, rows, err = writeTrail(c.Context(), b, s, within); err != nil {
			return err
		}
		return b.Flush()
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(), "%d seals, %d rows\n", seals, rows)
	by := onceward.LocalPrincipal()
	return s.Note(context.WithoutCancel(c.Context()), onceward.NewAuditEvent(onceward.AuditEvent{
		Actor: by.String(), Action: onceward.AuditTrailExported, Subject: "audit trail", Detail: fmt.Sprintf("%d seals, %d rows", seals, rows)}))
}

// span is a time from and to; zero is open.
type span struct{ from, to time.Time }

func parseSpan(from, to string) (s span, err error) {
	for _, p := range []struct {
		text, name string
		to         *time.Time
	}{{from, "from", &s.from}, {to, "to", &s.to}} {
		if p.text == "" {
			continue
		}
		if *p.to, err = time.Parse(time.RFC3339, p.text); err != nil {
			return s, usageError("--%s is not a time as 2026-01-02T15:04:05Z", p.name)
		}
	}
	return s, nil
}
