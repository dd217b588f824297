package webserver

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// ask sends a GET, or what the method says, with these header lines, and
// returns the status. {self} stands for the server's own address.
func (s *started) ask(method string, lines ...string) int {
	s.Helper()
	text := method + " / HTTP/1.1\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
	return s.raw(strings.ReplaceAll(text, "{self}", s.Addr().String())).StatusCode
}

func TestNameThatWasReboundReachesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, hello)
	_, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		"{self}": 200, "localhost:" + port: 200, "LOCALHOST:" + port: 200, "[::1]:" + port: 200, "127.0.0.2:" + port: 200,
		"evil.example:" + port: 403, "evil.example": 403, "127.0.0.1": 403, "127.0.0.1:1": 403, "localhost": 403, "": 403,
		"localhost.evil.example:" + port: 403, "127.0.0.1.evil.example:" + port: 403, "192.0.2.1:" + port: 403, "localhost.:" + port: 403,
	} {
		if got := s.ask("GET", "Host: "+host); got != want {
			t.Errorf("Host %q: status %d, want %d", host, got, want)
		}
	}
}

func TestPageOfAnotherOriginReachesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, hello, func(o *Options) { o.Origins = []string{"https://Console.example"} })
	for _, c := range []struct {
		lines []string
		want  int
	}{
		{nil, 200},
		{[]string{"Origin: http://{self}"}, 200},
		{[]string{"Origin: http://{self}", "Sec-Fetch-Site: same-origin"}, 200},
		{[]string{"Sec-Fetch-Site: none"}, 200},
		{[]string{"Origin: https://console.example", "Sec-Fetch-Site: cross-site"}, 200},
		{[]string{"Origin: https://evil.example"}, 403},
		{[]string{"Origin: http://localhost:1"}, 403},
		{[]string{"Origin: null"}, 403},
		{[]string{"Origin: http://{self}@evil.example"}, 403},
		{[]string{"Origin: http://evil@{self}"}, 403},
		{[]string{"Origin: http://{self}/x"}, 403},
		{[]string{"Origin: ftp://{self}"}, 403},
		{[]string{"Origin: "}, 403},
		{[]string{"Origin: http://{self}", "Origin: http://{self}"}, 403},
		{[]string{"Sec-Fetch-Site: cross-site"}, 403},
		{[]string{"Sec-Fetch-Site: same-site"}, 403},
		{[]string{"Sec-Fetch-Site: something-new"}, 403},
		{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, 403},
		{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 403},
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			if got := s.ask(method, append([]string{"Host: {self}"}, c.lines...)...); got != c.want {
				t.Errorf("%s with %q: status %d, want %d", method, c.lines, got, c.want)
			}
		}
	}
}

func TestLinkFromAnotherPageOpensAPageAndPostsNothing(t *testing.T) {
	t.Parallel()
	s := start(t, hello)
	link := []string{"Host: {self}", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}
	if got := s.ask("GET", link...); got != 200 {
		t.Errorf("a followed link gets %d", got)
	}
	if got := s.ask("POST", link...); got != 403 {
		t.Errorf("a posted form gets %d", got)
	}
}

func TestConfiguredNameIsTheServers(t *testing.T) {
	t.Parallel()
	s := start(t, hello, func(o *Options) { o.Hosts = []string{"Once.example", "two.example:8443"} })
	for host, want := range map[string]int{
		"once.example": 200, "ONCE.example:9": 200, "two.example:8443": 200, "two.example": 403, "three.example": 403, "{self}": 200,
	} {
		if got := s.ask("GET", "Host: "+host); got != want {
			t.Errorf("Host %q: status %d, want %d", host, got, want)
		}
	}
}

func TestBeyondLoopbackOnlyConfiguredNamesAreChecked(t *testing.T) {
	t.Parallel()
	g := &guard{port: "443", next: http.NotFoundHandler()}
	if !g.knowsHost("anything.example") {
		t.Error("without names, a host was refused")
	}
	g.hosts = []string{"once.example"}
	if g.knowsHost("localhost:443") || g.knowsHost("evil.example") || !g.knowsHost("once.example:443") {
		t.Error("with names, others were taken or they were refused")
	}
}

func TestRefusalIsWrittenPlainlyIfNobodySaysHow(t *testing.T) {
	t.Parallel()
	s := start(t, hello, func(o *Options) { o.Refuse = nil })
	if got := s.ask("GET", "Host: evil.example"); got != 403 {
		t.Errorf("status %d", got)
	}
}
