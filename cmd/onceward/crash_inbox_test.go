package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/proctest"
)

// TestAServerThatDiesWithAnEventHasItsTwoEffectsOnce really kills the server
// (SIGKILL) around the durable record of an event, before it is handled, between
// its two operations, and before it is noted as handled. The sender delivers
// again until it gets its 2xx, as senders do.
func TestAServerThatDiesWithAnEventHasItsTwoEffectsOnce(t *testing.T) {
	t.Parallel()
	atPointsOf(t, "inbox", func(t *testing.T, _, db, point string) { dieWithEvent(t, db, point) })
}

func dieWithEvent(t *testing.T, db, point string) {
	const secret, event = "hush", `{"id":"e-1","type":"order.placed","order":"o-1","amount":1999}`
	provider := proctest.NewProvider(t)
	srv := simServer(t, db, provider, "SHOP_HOOK_SECRET="+secret)
	srv.Args = append(srv.Args, "../../examples/hooks")
	srv.Start(point)
	answered := false
	if status, answer, err := shopDelivers(srv.URL(), secret, event); err == nil {
		if answered = status == 200; !answered {
			t.Fatalf("the delivery is answered %d: %s", status, answer)
		}
	}
	srv.AwaitDeath(point)
	if acknowledged := !strings.HasSuffix(point, "_record"); answered != acknowledged && !acknowledged {
		t.Fatalf("the sender got its 2xx at %s", point)
	}
	srv.Start("")
	if !answered {
		if status, answer, err := shopDelivers(srv.URL(), secret, event); err != nil || status != 200 {
			t.Fatalf("delivered again it is answered %d: %s (%v)", status, answer, err)
		}
	}
	p := &people{t: t, provider: provider, srv: srv}
	p.awaitEvent()
	for _, reference := range []string{"o-1", "shop-order/o-1"} {
		becomes(t, reference+" has its effect", settleMax, func() bool { return provider.Effects(reference).Count > 0 })
		p.effects(reference, 1)
	}
}

// awaitEvent waits until the only event is handled, with two operations.
func (p *people) awaitEvent() {
	p.t.Helper()
	becomes(p.t, "the event is handled, with two operations", settleMax, func() bool {
		var page struct {
			Events []struct {
				State      string
				Operations []string
			}
		}
		if err := json.Unmarshal([]byte(p.read("/v1/events")), &page); err != nil {
			p.t.Fatal(err)
		}
		return len(page.Events) == 1 && page.Events[0].State == "handled" && len(page.Events[0].Operations) == 2
	})
}
