package httpcall_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/faultproxy"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

// Many callers, connections that die at every point: each write arrives at most
// once, and the evidence never says less than what happened.
func TestNoWriteArrivesTwiceInAStormOfFaults(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t)
	proxy, err := faultproxy.Start(up.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	for i := range 200 {
		kind := []faultproxy.Kind{faultproxy.Cut, faultproxy.Reset, faultproxy.Refuse, faultproxy.Pass}[i%4]
		proxy.Next(faultproxy.Fault{Kind: kind, On: faultproxy.Direction(i / 4 % 2), After: int64(i * 37 % 900)})
	}
	c := newClient(t, httpcall.Options{})
	const callers, each = 8, 40
	seen := make([][]onceward.Evidence, callers)
	var all sync.WaitGroup
	for caller := range callers {
		seen[caller] = make([]onceward.Evidence, each)
		all.Go(func() {
			for i := range each {
				req := post("http://" + proxy.Addr() + "/" + fmt.Sprintf("%d-%d", caller, i))
				opts := write(proxy.Addr())
				opts.Deadline = 10 * time.Second
				if i%10 == 9 {
					opts.BeforeWrite = func() error { return onceward.Errorf(onceward.CodeFenceLost, "newer attempt") }
				}
				seen[caller][i] = c.Send(context.Background(), req, opts)
			}
		})
	}
	all.Wait()
	count := map[string]int{}
	for _, s := range up.Requests() {
		if s.Whole {
			count[s.Target]++
		}
	}
	answered, unsent, unknown := 0, 0, 0
	for caller := range callers {
		for i, ev := range seen[caller] {
			n := count[fmt.Sprintf("/%d-%d", caller, i)]
			switch {
			case ev.Status == 200:
				answered++
				if n != 1 {
					t.Errorf("answered, and arrived %d times: %s", n, show(ev))
				}
			case ev.Reach.NothingSent():
				unsent++
				if n != 0 {
					t.Errorf("said not to be sent, and arrived %d times: %s", n, show(ev))
				}
			default:
				unknown++
				if n > 1 {
					t.Errorf("arrived %d times: %s", n, show(ev))
				}
			}
		}
	}
	if answered == 0 || unsent == 0 || unknown == 0 {
		t.Errorf("the storm was none: %d answered, %d not sent, %d unknown", answered, unsent, unknown)
	}
}
