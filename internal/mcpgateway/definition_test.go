package mcpgateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

// load puts other contracts of the desk in force.
func (w *world) load(more string) {
	w.Helper()
	file := filepath.Join(w.TempDir(), "desk.yaml")
	w.must(os.WriteFile(file, []byte("apiVersion: onceward/v1\nkind: MCPServer\nmetadata: {name: desk, owner: us}\nspec:\n  url: "+w.gateway.opts.Upstreams.Servers()[0].URL+more), 0o600))
	set, err := contract.LoadDir([]string{file}, contract.Options{ByteTail: contract.NoByteTail})
	w.must(err)
	var tools []onceward.Tool
	for _, tool := range set.Tools() {
		tools = append(tools, tool)
	}
	w.must(w.registry.Activate(w.Context(), tools, false))
}

// pin is deskWrites for the definition that the desk has now.
func (w *world) pin() string {
	w.Helper()
	list, err := w.gateway.opts.Upstreams.(behind).client.Definitions(w.Context(), "desk")
	w.must(err)
	return deskWrites + "      definition: " + list[0].Digest + "\n"
}

func TestContractForTheNewDefinitionSetsTheToolFreeOfWhatWasBegunUnderTheOld(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, deskWrites)
	w.work()
	w.load(w.pin())
	s := w.client("2025-11-25", headers{"Authorization": "Bearer ada"})
	d.mu.Lock()
	d.description = " by fax"
	d.mu.Unlock()
	res := w.call(s, "desk.create", `{"id":"a"}`, nil)
	for until, n := time.Now().Add(20*time.Second), 0; !res.IsError && time.Now().Before(until); n++ { // the list may be a second old
		res = w.call(s, "desk.create", fmt.Sprintf(`{"id":"a%d"}`, n), nil)
	}
	if _, paused := w.ledger.Paused("default", "desk.create"); !paused || !strings.Contains(text(res), "made for: description") {
		t.Fatalf("paused %t: %s", paused, text(res))
	}
	stuck, made := mark(t, res)["operation"].(string), d.made()
	w.load(w.pin())
	_, err := w.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), "desk.create")
	w.must(err)
	op := w.settled(stuck, func(op *onceward.Operation) bool { return op.State == onceward.StateFailed })
	if !strings.Contains(op.Failure.Message, "fork") || d.made() != made {
		t.Errorf("it ends with %q, and %d were made", op.Failure.Message, d.made()-made)
	}
	if again := w.call(s, "desk.create", `{"id":"new"}`, nil); again.IsError || d.made() != made+1 {
		t.Errorf("the tool stays shut: %s", text(again))
	}
}
