package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/webserver"
)

func newSim() *cobra.Command {
	var listen, file, token string
	var retention time.Duration
	var log bool
	c := &cobra.Command{
		Use: "sim", Short: "Run the bundled provider: tickets, payments, mail, contacts, fax, with faults on demand", Args: cobra.NoArgs,
		Long: "A provider to practise on. It fails on demand and counts what really happened, by its own books.\n" +
			"Its first page tells all of it. Contracts for it are in examples/sim; they find it by SIM_URL.",
		Example: "  onceward sim --listen 127.0.0.1:7070\n  SIM_URL=http://127.0.0.1:7070 onceward serve --contracts examples/sim",
		RunE: func(c *cobra.Command, _ []string) error {
			opts := simprovider.Options{File: file, Token: token, KeyRetention: retention}
			if log {
				opts.Log = os.Stderr
			}
			s, err := simprovider.Open(opts)
			if err != nil {
				return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "start provider", Message: "its file cannot be used", Err: err}
			}
			l, err := webserver.Listen(c.Context(), listen, false)
			if err != nil {
				return errors.Join(err, s.Close())
			}
			fmt.Fprintf(c.OutOrStdout(), "provider at http://%s\nexport SIM_URL=http://%s\n", l.Addr(), l.Addr())
			return serveSim(c.Context(), s, l)
		},
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:7070", "address, loopback only")
	f.StringVar(&file, "file", "", "keep effects in this file, so that they survive a crash")
	f.StringVar(&token, "token", "", "bearer token that the provider asks for")
	f.DurationVar(&retention, "key-retention", simprovider.DefaultKeyRetention, "how long idempotency keys are honoured")
	f.BoolVar(&log, "log", true, "one line per request on standard error")
	return c
}

// serveSim serves until ctx ends.
func serveSim(ctx context.Context, s *simprovider.Server, l net.Listener) error {
	srv := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return errors.Join(err, s.Close())
	case <-ctx.Done():
		return errors.Join(s.Close(), srv.Close())
	}
}
