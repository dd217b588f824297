package httpcall_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

func moved(status int, to string) providertest.Step {
	return providertest.Answer(fmt.Sprintf("HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", status, to))
}

func TestReadFollowsRedirectsWithinTheHosts(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := providertest.NewUpstream(t)
		up := providertest.NewUpstream(t, moved(status, "b?x=1"), moved(status, "http://"+other.Addr()+"/c"))
		req := get("http://"+up.Addr()+"/dir/a", onceward.HeaderField{Name: "Authorization", Value: "Bearer very-secret"}, onceward.HeaderField{Name: "Accept", Value: "a/b"})
		ev := newClient(t, httpcall.Options{}).Send(t.Context(), req, read(up.Addr(), other.Addr()))
		if ev.Status != 200 || ev.RemoteAddr != other.Addr() {
			t.Fatalf("%d: %s", status, show(ev))
		}
		same, cross := up.Requests(), other.Requests()
		if len(same) != 2 || same[1].Target != "/dir/b?x=1" || same[1].Header.Get("Authorization") == "" {
			t.Errorf("%d: at the first host: %+v", status, same)
		}
		if len(cross) != 1 || cross[0].Target != "/c" || cross[0].Header.Get("Authorization") != "" || cross[0].Header.Get("Accept") != "a/b" {
			t.Errorf("%d: at the other host: %+v", status, cross)
		}
	}
}

func TestReadStopsAtARedirectThatItMayNotFollow(t *testing.T) {
	t.Parallel()
	cert, roots := authority(t)
	elsewhere := providertest.NewUpstream(t)
	for name, c := range map[string]struct {
		location string
		method   string
		tls      bool
	}{
		"host off the list": {"http://" + elsewhere.Addr() + "/", "GET", false},
		"from TLS to none":  {"http://HOST/", "GET", true},
		"other scheme":      {"ftp://HOST/", "GET", false},
		"nonsense":          {"http://%zz/", "GET", false},
		"nowhere":           {"", "GET", false},
		"not a GET":         {"/b", "POST", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listen(t)
			scheme := "http://"
			step := moved(307, strings.ReplaceAll(c.location, "HOST", l.Addr().String()))
			if c.tls {
				scheme, l = "https://", tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}})
			}
			up := providertest.NewUpstreamOn(t, l, step)
			req := get(scheme + up.Addr() + "/a")
			req.Method = c.method
			ev := newClient(t, httpcall.Options{RootCAs: roots}).Send(t.Context(), req, read(up.Addr()))
			if ev.Status != 307 || ev.ErrorClass != onceward.ClassNone {
				t.Errorf("evidence = %s", show(ev))
			}
			arrived(t, up, 1)
		})
	}
	t.Cleanup(func() { arrived(t, elsewhere, 0) })
}

func TestReadDoesNotRunInCircles(t *testing.T) {
	t.Parallel()
	var steps []providertest.Step
	for range 50 {
		steps = append(steps, moved(302, "/a"))
	}
	up := providertest.NewUpstream(t, steps...)
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), get("http://"+up.Addr()+"/a"), read(up.Addr()))
	if ev.Status != 302 {
		t.Errorf("evidence = %s", show(ev))
	}
	arrived(t, up, 6)
}

func TestWriteByGetIsAWrite(t *testing.T) {
	t.Parallel()
	for _, step := range []providertest.Step{moved(302, "/b"), moved(307, "/b")} {
		up := providertest.NewUpstream(t, step)
		if ev := newClient(t, httpcall.Options{}).Send(t.Context(), get("http://"+up.Addr()+"/a"), write(up.Addr())); ev.Status/100 != 3 {
			t.Errorf("evidence = %s", show(ev))
		}
		arrived(t, up, 1)
	}
}

func TestReadOnAConnectionThatDiedIsAskedAgain(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t, providertest.Answer(providertest.OK), providertest.Close())
	c := newClient(t, httpcall.Options{})
	c.Send(t.Context(), get("http://"+up.Addr()+"/a"), read(up.Addr()))
	ev := c.Send(t.Context(), get("http://"+up.Addr()+"/a"), read(up.Addr()))
	if ev.Status != 200 {
		t.Errorf("evidence = %s", show(ev))
	}
	arrived(t, up, 3)
	// A new connection that dies is an answer of its own.
	fresh := providertest.NewUpstream(t, providertest.Close())
	ev = newClient(t, httpcall.Options{}).Send(t.Context(), get("http://"+fresh.Addr()+"/a"), read(fresh.Addr()))
	if ev.Status != 0 || ev.ErrorCode != "closed" {
		t.Errorf("evidence = %s", show(ev))
	}
	arrived(t, fresh, 1)
}

func TestSecretInALocationIsFollowedButNotKept(t *testing.T) {
	t.Parallel()
	const secret = "very-secret-value"
	up := providertest.NewUpstream(t, moved(302, "/b?token="+secret))
	req := get("http://"+up.Addr()+"/a", onceward.HeaderField{Name: "Authorization", Value: "Bearer " + secret})
	c := newClient(t, httpcall.Options{})
	if ev := c.Send(t.Context(), req, read(up.Addr())); ev.Status != 200 {
		t.Errorf("evidence = %s", show(ev))
	}
	if seen := up.Requests(); len(seen) != 2 || seen[1].Target != "/b?token="+secret {
		t.Errorf("arrived: %+v", seen)
	}
	up = providertest.NewUpstream(t, moved(302, "http://elsewhere.example/b?token="+secret))
	req.URL = "http://" + up.Addr()
	if ev := c.Send(t.Context(), req, read(up.Addr())); ev.Status != 302 || strings.Contains(show(ev), secret) {
		t.Errorf("evidence = %s", show(ev))
	}
}
