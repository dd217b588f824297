package httpcall_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testneed"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

// resolver answers every name with one address, over a tiny DNS server of its own.
func resolver(tb testing.TB, address string) *net.Resolver {
	tb.Helper()
	return changing(tb, func() string { return address })
}

// changing is a resolver whose one address is what address says at the time.
func changing(tb testing.TB, address func() string) *net.Resolver {
	tb.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(dnsAnswer(buf[:n], net.ParseIP(address())), from)
		}
	}()
	tb.Cleanup(func() {
		_ = pc.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// dnsAnswer answers a question of type A or AAAA with ip where the kind fits,
// else with nothing.
func dnsAnswer(query []byte, ip net.IP) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5
	kind := query[end-3]
	data := []byte(ip.To4())
	want := byte(1)
	if data == nil {
		data, want = ip, 28
	}
	answers := byte(0)
	if kind == want {
		answers = 1
	}
	out := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, answers, 0, 0, 0, 0}, query[12:end]...)
	if answers == 1 {
		out = append(out, 0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0, byte(len(data)))
		out = append(out, data...)
	}
	return out
}

func TestListedNameIsCalledWhateverPrivateAddressItHas(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t)
	_, port, _ := net.SplitHostPort(up.Addr())
	url := "http://tickets.internal:" + port + "/a"
	for _, hosts := range [][]string{{"tickets.internal"}, {"tickets.internal:" + port}, {"other.example", "Tickets.Internal."}} {
		c := newClient(t, httpcall.Options{Resolver: resolver(t, "127.0.0.1")})
		if ev := c.Send(t.Context(), post(url), write(hosts...)); ev.Status != 200 {
			t.Errorf("%v: evidence = %s", hosts, show(ev))
		}
	}
	if got := up.Requests()[0].Host; got != "tickets.internal:"+port {
		t.Errorf("Host = %q", got)
	}
	strict := newClient(t, httpcall.Options{Resolver: resolver(t, "127.0.0.1"), RefusePrivateNames: true})
	if ev := strict.Send(t.Context(), post(url), write("tickets.internal")); ev.ErrorCode != "address_refused" || ev.Reach != onceward.ReachNotDialled {
		t.Errorf("private name where those are refused: %s", show(ev))
	}
	if ev := strict.Send(t.Context(), post("http://"+up.Addr()), write("127.0.0.1")); ev.Status != 200 {
		t.Errorf("the address itself is listed: %s", show(ev))
	}
	arrived(t, up, 4)
}

// Port 1: should the rule break, the test still reaches nobody.
func TestNameThatResolvesToAMetadataOrLinkLocalAddressIsRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"169.254.169.254", "169.254.1.1", "fe80::1", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16",
		"0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::ffff:169.254.169.254",
	} {
		c := newClient(t, httpcall.Options{Resolver: resolver(t, address)})
		ev := c.Send(t.Context(), post("http://api.example:1/a"), write("api.example"))
		if ev.ErrorCode != "address_refused" || ev.ErrorClass != onceward.ClassValidation || ev.Reach != onceward.ReachNotDialled {
			t.Errorf("%s: evidence = %s", address, show(ev))
		}
	}
}

// A name server that answers well at first, and then with an address inside, does
// not get a request there: what is checked is the address that is dialled.
func TestNameThatIsReboundAfterItsFirstAnswerIsRefused(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t, providertest.AnswerAndClose("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
	_, port, _ := net.SplitHostPort(up.Addr())
	var address atomic.Value
	address.Store("127.0.0.1")
	c := newClient(t, httpcall.Options{Resolver: changing(t, func() string { return address.Load().(string) })})
	url := "http://api.example:" + port + "/a"
	if ev := c.Send(t.Context(), post(url), write("api.example")); ev.Status != 200 {
		t.Fatalf("evidence = %s", show(ev))
	}
	for _, inside := range []string{"169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254"} {
		address.Store(inside)
		if ev := c.Send(t.Context(), post(url), write("api.example")); ev.ErrorCode != "address_refused" || ev.Reach != onceward.ReachNotDialled {
			t.Errorf("rebound to %s: %s", inside, show(ev))
		}
	}
	arrived(t, up, 1)
}

func TestMetadataAddressIsRefusedEvenWhereItIsListed(t *testing.T) {
	t.Parallel()
	c := newClient(t, httpcall.Options{})
	for _, host := range []string{"169.254.169.254", "100.100.100.200", "0.0.0.0", "255.255.255.255", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "[::]"} {
		ev := c.Send(t.Context(), post("http://"+host+":1/a"), write(host))
		if ev.ErrorCode != "address_refused" || ev.Reach != onceward.ReachNotDialled {
			t.Errorf("%s: evidence = %s", host, show(ev))
		}
	}
}

func TestURLThatIsNotOnTheListInAnySpelling(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t)
	_, port, _ := net.SplitHostPort(up.Addr())
	c := newClient(t, httpcall.Options{Resolver: resolver(t, "127.0.0.1")})
	for url, code := range map[string]string{
		"http://127.0.0.1:" + port + "@evil.example/": "url_invalid",
		"http://evil.example#127.0.0.1:" + port:       "host_refused",
		"http://127.0.0.1.evil.example:" + port + "/": "host_refused",
		"http://127.0.0.1:1/":                         "host_refused",
		"http://user:secret@127.0.0.1:" + port + "/":  "url_invalid",
		"http://0x7f000001:" + port + "/":             "host_refused",
		"http://2130706433:" + port + "/":             "host_refused",
		"http://[::1%25lo]:" + port + "/":             "url_invalid",
		"ftp://127.0.0.1:" + port + "/":               "url_invalid",
		"//127.0.0.1:" + port + "/":                   "url_invalid",
		"http:127.0.0.1:" + port:                      "url_invalid",
		"http:///path":                                "url_invalid",
		"http://127.0.0.1:99999/":                     "url_invalid",
		"http://127.0.0.1:0/":                         "url_invalid",
		"http://127.0.0.1:" + port + "\r\nX: 1/":      "url_invalid",
		"http://ex ample/":                            "url_invalid",
		"http://a..b/":                                "url_invalid",
		"http://\u2028/":                              "url_invalid",
		"":                                            "url_invalid",
	} {
		ev := c.Send(t.Context(), post(url), write("127.0.0.1:"+port))
		if ev.ErrorCode != code || ev.Reach != onceward.ReachNotDialled || ev.ErrorClass != onceward.ClassValidation {
			t.Errorf("%q: want %s, evidence = %s", url, code, show(ev))
		}
	}
	arrived(t, up, 0)
}

func TestNameInAnotherScriptIsOneHostInBothSpellings(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t)
	_, port, _ := net.SplitHostPort(up.Addr())
	c := newClient(t, httpcall.Options{Resolver: resolver(t, "127.0.0.1")})
	for _, c2 := range []struct{ url, host, sent string }{
		{"bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"xn--bcher-kva.example", "BÜCHER.example", "xn--bcher-kva.example"},
		{"bu\u0308cher.example", "bücher.example", "xn--bcher-kva.example"}, // decomposed
		{"ｅｘａｍｐｌｅ。com", "example.com", "example.com"},                       // full width
		{"例え.テスト", "xn--r8jz45g.xn--zckzah", "xn--r8jz45g.xn--zckzah"},
		{"１２７.0.0.1", "127.0.0.1", "127.0.0.1"},
	} {
		ev := c.Send(t.Context(), post("http://"+c2.url+":"+port+"/"), write(c2.host))
		if ev.Status != 200 {
			t.Errorf("%s on list %s: %s", c2.url, c2.host, show(ev))
			continue
		}
		seen := up.Requests()
		if got := seen[len(seen)-1].Host; got != c2.sent+":"+port {
			t.Errorf("%s: Host = %q, want %q", c2.url, got, c2.sent)
		}
	}
}

func TestAddressOfVersionSixIsListedWithAndWithoutBrackets(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		testneed.Missing(t, fmt.Sprintf("no IPv6 loopback: %v", err))
	}
	up := providertest.NewUpstreamOn(t, l)
	c := newClient(t, httpcall.Options{})
	for _, host := range []string{"::1", "[::1]", up.Addr(), "0:0:0:0:0:0:0:1"} {
		if ev := c.Send(t.Context(), post("http://"+up.Addr()+"/"), write(host)); ev.Status != 200 {
			t.Errorf("%s: %s", host, show(ev))
		}
	}
}

func TestNameThatDoesNotResolveSendsNothing(t *testing.T) {
	t.Parallel()
	broken := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }}
	ev := newClient(t, httpcall.Options{Resolver: broken}).Send(t.Context(), post("http://tickets.example/"), write("tickets.example"))
	if ev.Reach != onceward.ReachNotDialled || ev.ErrorClass != onceward.ClassConnection || ev.ErrorCode != "dns_failed" {
		t.Errorf("evidence = %s", show(ev))
	}
}

func TestResolverThatIsSilentEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	silent := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	opts := write("tickets.example")
	opts.Deadline = 50 * time.Millisecond
	ev := newClient(t, httpcall.Options{Resolver: silent}).Send(t.Context(), post("http://tickets.example/"), opts)
	if ev.Reach != onceward.ReachNotDialled || ev.ErrorClass != onceward.ClassTimeout || ev.ErrorCode != "dial_timeout" {
		t.Errorf("evidence = %s", show(ev))
	}
}
