package httpcall_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

func newClient(tb testing.TB, o httpcall.Options) *httpcall.Client {
	tb.Helper()
	c := httpcall.New(o)
	tb.Cleanup(c.Close)
	return c
}

func post(url string) *onceward.Request {
	return &onceward.Request{
		Method: "POST", URL: url, Body: []byte(`{"title":"a"}`),
		Header: []onceward.HeaderField{{Name: "Content-Type", Value: "application/json"}, {Name: "Idempotency-Key", Value: "k1"}},
	}
}

func write(hosts ...string) onceward.SendOptions {
	return onceward.SendOptions{Write: true, Deadline: 10 * time.Second, Hosts: hosts}
}

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
