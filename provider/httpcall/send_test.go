package httpcall_test

import (
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

func TestAnsweredWriteIsSeenWhole(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t)
	c := newClient(t, httpcall.Options{Version: "1.2.3"})
	ev := c.Send(t.Context(), post("http://"+up.Addr()+"/tickets"), write(up.Addr()))
	if ev.Status != 200 || string(ev.Body) != `{"id":"t1"}` || ev.Reach != onceward.ReachFirstByte || ev.ErrorClass != onceward.ClassNone {
		t.Errorf("evidence = %+v", ev)
	}
	seen := up.Requests()
	if len(seen) != 1 || string(seen[0].Body) != `{"title":"a"}` || seen[0].Header.Get("User-Agent") != "onceward/1.2.3" {
		t.Errorf("arrived: %+v", seen)
	}
}
