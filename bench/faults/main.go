package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/onceward/onceward/internal/simprovider"
)

func main() {
	n := flag.Int("n", 20, "intentions in each cell")
	flag.Parse()
	if err := run(context.Background(), *n); err != nil {
		fmt.Fprintln(os.Stderr, "faults: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, n int) (err error) {
	if n < 1 {
		return errors.New("-n is at least 1")
	}
	sim := simprovider.New(simprovider.Options{})
	srv := httptest.NewServer(sim.Handler())
	defer srv.Close()
	dir, err := os.MkdirTemp("", "onceward-faults-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	e, err := openEngine(ctx, dir, srv.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.stop()) }()
	c := newCaller(srv.URL)
	guards := []guard{{"no guard", c.noGuard}, {"retry", c.retry}, {"look, then write", c.check}, {"Onceward", e.handle}}
	fmt.Printf("%s, %s/%s, %d intentions in each cell\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, n)
	return table(ctx, sim, guards, n)
}

// table prints each cell as duplicates / lost / said done but lost / said failed
// but happened / asked a person, in percent, and the calls for one intention.
func table(ctx context.Context, sim *simprovider.Server, guards []guard, n int) error {
	head := "| fault | effect class |"
	for _, g := range guards {
		head += " " + g.name + " |"
	}
	fmt.Println(head)
	fmt.Println("| --- | --- |" + strings.Repeat(" --- |", len(guards)))
	sums := make([][]counts, len(classes))
	for i := range sums {
		sums[i] = make([]counts, len(guards))
	}
	for i := range modes {
		cells := make([][]counts, len(classes))
		errs := make([]error, len(classes))
		var wg sync.WaitGroup
		for k := range classes {
			cells[k] = make([]counts, len(guards))
			wg.Go(func() {
				for g := range guards {
					if cells[k][g], errs[k] = cell(ctx, sim, &modes[i], &classes[k], &guards[g], n); errs[k] != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		for k := range classes {
			fmt.Println(row(modes[i].name, classes[k].name, cells[k]))
			for g := range guards {
				sums[k][g].add(cells[k][g])
			}
		}
	}
	for k := range classes {
		fmt.Println(row("all twelve", classes[k].name, sums[k]))
	}
	return nil
}

func row(mode, class string, cells []counts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %s |", mode, class)
	for _, c := range cells {
		b.WriteString(" " + c.String() + " |")
	}
	return b.String()
}

// String is the cell as it is printed.
func (c counts) String() string {
	percent := func(n int) int { return (200*n + c.trials) / (2 * c.trials) }
	return fmt.Sprintf("%d / %d / %d / %d / %d, %.1f", percent(c.duplicates), percent(c.lost), percent(c.falseDone), percent(c.falseFailed),
		percent(c.asks), float64(c.calls)/float64(c.trials))
}

// slug is a name as part of a reference.
func slug(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, s)
}
