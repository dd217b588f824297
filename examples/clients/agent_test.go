//go:build clients

package clients_test

import (
	"path/filepath"
	"testing"

	"github.com/onceward/onceward/internal/faultproxy"
	"github.com/onceward/onceward/internal/proctest"
)

// said is what a guarded tool told the model on each run.
type said struct {
	Said []struct {
		Status, Operation, Reference string
		Replayed                     bool
	}
}

// TestAnAgentThatPlansAnewOpensOneTicket loses the answer of the first run's
// write: the program gives the run up and starts others, whose model uses other
// words and other call IDs.
func TestAnAgentThatPlansAnewOpensOneTicket(t *testing.T) {
	t.Parallel()
	contracts, err := filepath.Abs("../sim")
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string][]string{
		"Vercel AI SDK": {"node", "vercel-ai.mjs"}, "LangGraph": {"node", "langgraph.mjs"}, "OpenAI Agents": {"node", "openai-agents.mjs"}, "Python": {"python3", "agent.py"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := proctest.NewProvider(t)
			faults, err := faultproxy.Start(provider.URL[len("http://"):])
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = faults.Close() })
			s := proctest.NewServer(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), []string{contracts}, "SIM_URL=http://"+faults.Addr())
			s.Start("")
			faults.Next(faultproxy.Fault{Kind: faultproxy.Swallow, On: faultproxy.ToClient})
			var got said
			run(t, &got, []string{"ONCEWARD_URL=" + s.URL(), "EVENT=" + t.Name(), "PYTHONPATH=../../clients/python", "PYTHONDONTWRITEBYTECODE=1"}, command...)
			if len(got.Said) != 3 || got.Said[0].Status != "timed_out" {
				t.Fatalf("the first run was not given up: %+v", got)
			}
			for _, g := range got.Said[1:] {
				if g.Status != "succeeded" || g.Operation == "" || g.Operation != got.Said[1].Operation || g.Reference == "" {
					t.Errorf("%+v", g)
				}
			}
			if !got.Said[2].Replayed {
				t.Error("the last run is not told that it repeats")
			}
			if n := provider.Effects("complaints/" + t.Name()).Count; n != 1 {
				t.Errorf("%d tickets", n)
			}
		})
	}
}
