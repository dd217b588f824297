package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/examples"
	"github.com/onceward/onceward/internal/freeport"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/webserver"
)

func newDemo() *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use: "demo", Short: "See it in a minute: duplicates, a lost answer, a real crash", Args: cobra.NoArgs,
		Long: "Starts the bundled provider, a server of its own on an embedded ledger in a temporary folder, and\n" +
			"plays what goes wrong in real life. The provider counts what really happened, by its own books.\n" +
			"Exits 0 only if every row has the right number of effects.",
		RunE: func(c *cobra.Command, _ []string) error { return runDemo(c, keep) },
	}
	c.Flags().BoolVar(&keep, "keep", false, "leave the server up afterwards, with a story in its console, and say how to sign in")
	return c
}

// demo is one run: a provider in this process, a server in a child.
type demo struct {
	out    io.Writer // the story; discarded under --json
	dir    string
	sim    string // address of the provider
	listen string // address of the server
	client *client
	child  *child
	rows   []demoRow
}

// demoRow is one scene and what it came to.
type demoRow struct {
	Scene      string `json:"scene"`
	Deliveries int    `json:"deliveries"`
	Attempts   int    `json:"attempts"`
	Effects    int    `json:"effects"`
	Want       int    `json:"effects_wanted"`
	State      string `json:"state"`
	WantState  string `json:"state_wanted"`
	Settled    string `json:"settled_by"`
}

func (r demoRow) right() bool { return r.Effects == r.Want && r.State == r.WantState }

func runDemo(c *cobra.Command, keep bool) (err error) {
	d := &demo{out: c.OutOrStdout()}
	if wantsJSON(c) {
		d.out = io.Discard
	}
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	cleanup, err := d.setUp(ctx, keep)
	defer cleanup()
	if err != nil {
		return fmt.Errorf("set up demo: %w", err)
	}
	if err := d.play(ctx); err != nil {
		return fmt.Errorf("play demo: %w\n%s", err, d.child.tail())
	}
	if wantsJSON(c) {
		if err := json.NewEncoder(c.OutOrStdout()).Encode(map[string]any{"rows": d.rows}); err != nil {
			return err
		}
	} else {
		d.table()
	}
	for _, r := range d.rows {
		if !r.right() {
			return &exitError{code: exitOther, err: fmt.Errorf("%s: %d effects and state %s, want %d and %s", r.Scene, r.Effects, r.State, r.Want, r.WantState)}
		}
	}
	if keep {
		person, err := d.seed(ctx)
		if err != nil {
			return fmt.Errorf("seed demo: %w\n%s", err, d.child.tail())
		}
		d.whatNext(person)
		<-c.Context().Done()
	}
	return nil
}

// setUp starts everything, with a week to look back on if there is to be one.
// cleanup is never nil.
func (d *demo) setUp(ctx context.Context, past bool) (cleanup func(), err error) {
	var undo []func()
	cleanup = func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
	if d.dir, err = os.MkdirTemp("", "onceward-demo-"); err != nil {
		return cleanup, err
	}
	undo = append(undo, func() { _ = os.RemoveAll(d.dir) })
	if err := os.CopyFS(filepath.Join(d.dir, "contracts"), subFS(examples.Sim, "sim")); err != nil {
		return cleanup, err
	}
	l, err := webserver.Listen(ctx, "127.0.0.1:0", false)
	if err != nil {
		return cleanup, err
	}
	sctx, stop := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() { _ = serveSim(sctx, simprovider.New(simprovider.Options{}), l); close(served) }()
	undo = append(undo, func() { stop(); <-served })
	d.sim = "http://" + l.Addr().String()
	if d.listen, err = freeport.Address(ctx); err != nil {
		return cleanup, err
	}
	d.client = &client{base: "http://" + d.listen, http: httpClient(90 * time.Second)}
	undo = append(undo, func() { _ = d.child.stop() })
	d.say("A provider that counts what really happens: %s", d.sim)
	d.say("A server with an embedded ledger:           %s\n", d.client.base)
	if past {
		if err := d.lookBack(ctx); err != nil {
			return cleanup, err
		}
	}
	return cleanup, d.start(ctx, "")
}

// ledgerFile is where the server's ledger is.
func (d *demo) ledgerFile() string { return filepath.Join(d.dir, "onceward.db") }

func subFS(f fs.FS, dir string) fs.FS {
	sub, err := fs.Sub(f, dir)
	if err != nil {
		panic(err) // the folder is embedded
	}
	return sub
}

// start starts the server, to die at a crash point if one is given.
func (d *demo) start(ctx context.Context, crash string) (err error) {
	d.child, err = startServer(ctx, d.client, serverArgs{
		db: "sqlite:" + d.ledgerFile(), contracts: filepath.Join(d.dir, "contracts"), listen: d.listen,
		env: []string{"SIM_URL=" + d.sim}, crash: crash,
	})
	return err
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }
