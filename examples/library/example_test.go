// Package library_test shows a program that embeds the ledger. The README
// quotes this code, and a test compares the two.
package library_test

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/worker"
)

//go:embed charge.yaml
var chargeYAML []byte

func Example() {
	shop, charges := newShop()
	defer shop.Close()
	env := func(string) (string, bool) { return shop.URL, true } // ${env.SHOP_URL}

	ctx := context.Background()
	tools, err := contract.Load(chargeYAML, "charge.yaml", contract.Options{Env: env})
	check(err)
	store, err := sqlite.Open(ctx, tempFile("ledger.db"), sqlite.Options{})
	check(err)
	defer func() { check(store.Close()) }()
	registry := onceward.NewRegistry(store, contract.Compiler(contract.Options{Env: env}))
	check(registry.Activate(ctx, []onceward.Tool{tools[0]}, false))
	ledger, err := onceward.New(onceward.Options{Store: store, Tools: registry, Provider: httpcall.New(httpcall.Options{})})
	check(err)
	check(ledger.Start(ctx))
	defer func() { check(ledger.Close(ctx)) }()

	// What is not settled at once is looked up, tried again or retired by these.
	loops, stop := context.WithCancel(ctx)
	due := worker.NewDue(ledger, store, slog.Default())
	wait := worker.Start(loops, onceward.SystemClock{}, slog.Default(),
		due, worker.NewStranded(ledger), worker.NewSwitches(ledger), worker.NewRetire(ledger))
	defer func() { stop(); wait(); due.Wait() }() // before the ledger is closed

	for range 3 { // a queue that delivers the same order three times
		answer, err := ledger.Submit(ctx, onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "orders.charge",
			Input: []byte(`{"order":"o-17","cents":4200}`), Wait: onceward.DefaultWait})
		check(err)
		fmt.Println(answer.Decision, answer.Operation.State, answer.Operation.Reference)
	}
	fmt.Println("charges at the shop:", *charges)
	// Output:
	// fresh succeeded ch_1
	// replayed succeeded ch_1
	// replayed succeeded ch_1
	// charges at the shop: 1
}

// newShop is a provider that charges whenever it is asked, but for the first time:
// then it is down, and nobody can tell from its answer whether it charged.
func newShop() (*httptest.Server, *int) {
	charges, down := 0, true
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down {
			down = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		charges++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":"ch_%d"}`, charges)
	})), &charges
}

func tempFile(name string) string {
	dir, err := os.MkdirTemp("", "onceward-example-")
	check(err)
	return dir + "/" + name
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func TestTheReadmeQuotesTheExample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	check(err)
	source, err := os.ReadFile("example_test.go")
	check(err)
	_, rest, _ := strings.Cut(string(source), "\tctx := context.Background()\n")
	code, _, _ := strings.Cut(rest, "\tfmt.Println(\"charges")
	code = strings.TrimSpace(strings.ReplaceAll("\n\tctx := context.Background()\n"+code, "\n\t", "\n"))
	if !strings.Contains(string(readme), code) {
		t.Errorf("README.md does not quote this:\n%s", code)
	}
}
