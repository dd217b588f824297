package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

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
	srv := proctest.NewServer(t, db, []string{simContracts(t), "../../examples/hooks"}, "SIM_URL="+provider.URL, "SHOP_HOOK_SECRET="+secret)
	srv.Start(point)
	answered := false
	if status, answer, err := shopDelivers(srv.URL(), secret, event); err == nil {
		if answered = status == 200; !answered {
			t.Fatalf("the delivery is answered %d: %s", status, answer)
		}
	}
	if end := srv.Wait(); !strings.Contains(end, "killed") {
		t.Fatalf("the server did not die at %s: %s", point, end)
	}
	if acknowledged := !strings.HasSuffix(point, "_record"); answered != acknowledged && !acknowledged {
		t.Fatalf("the sender got its 2xx at %s", point)
	}
	srv.Start("")
	if !answered {
		if status, answer, err := shopDelivers(srv.URL(), secret, event); err != nil || status != 200 {
			t.Fatalf("delivered again it is answered %d: %s (%v)", status, answer, err)
		}
	}
	waitForEvent(t, srv.URL())
	for _, reference := range []string{"o-1", "shop-order/o-1"} {
		for until := time.Now().Add(settleMax); provider.Effects(reference).Count == 0 && time.Now().Before(until); {
			<-time.After(50 * time.Millisecond)
		}
		if got := provider.Effects(reference); got.Count != 1 {
			t.Errorf("%d effects of %s in %d requests, want 1", got.Count, reference, got.Requests)
		}
	}
}

// waitForEvent waits until the only event is handled, with two operations.
func waitForEvent(t *testing.T, server string) {
	t.Helper()
	p := &people{t: t, srv: &proctest.Server{Listen: strings.TrimPrefix(server, "http://")}}
	var page struct {
		Events []struct {
			State      string
			Operations []string
		}
	}
	for until := time.Now().Add(settleMax); time.Now().Before(until); <-time.After(50 * time.Millisecond) {
		if err := json.Unmarshal([]byte(p.read("/v1/events")), &page); err != nil {
			t.Fatal(err)
		}
		if len(page.Events) == 1 && page.Events[0].State == "handled" && len(page.Events[0].Operations) == 2 {
			return
		}
	}
	t.Fatalf("the events are %+v", page.Events)
}
