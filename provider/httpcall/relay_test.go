package httpcall

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestRelayRedactsWhatTheAnswerEchoesAndHoldsNothingElseBack(t *testing.T) {
	t.Parallel()
	const secret = "sk-4711-very-secret"
	next := make(chan string)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer "+secret {
			t.Errorf("the server got %q", req.Header.Get("Authorization"))
		}
		for part := range next {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(srv.Close)
	c := New(Options{})
	t.Cleanup(c.Close)
	r := c.Relay()
	t.Cleanup(r.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { next <- "data: first\n\n" }()
	res, err := r.Do(req, []onceward.HeaderField{{Name: "Authorization", Value: "Bearer " + secret}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, len("data: first\n\n"))
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "data: first\n\n" {
		t.Fatalf("before the end comes %q (%v)", first, err)
	}
	go func() {
		for _, part := range []string{"you sent sk-4711-", "very-secret, and sk-4711", "-nothing, " + secret + " sk-47"} {
			next <- part
		}
		close(next)
	}()
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != "you sent [redacted], and sk-4711-nothing, [redacted] sk-47" {
		t.Errorf("the rest is %q (%v)", rest, err)
	}
}

func TestRelayKeepsTheRulesOfEgressAndFollowsNothing(t *testing.T) {
	t.Parallel()
	hits := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		hits++
		http.Redirect(w, req, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(srv.Close)
	c := New(Options{})
	t.Cleanup(c.Close)
	r := c.Relay()
	t.Cleanup(r.Close)
	for address, passes := range map[string]bool{srv.URL: true, "http://169.254.169.254/mcp": false, "file:///etc/passwd": false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Do(req, nil)
		if (err == nil) != passes {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			_ = res.Body.Close()
		}
	}
	if hits != 1 {
		t.Errorf("%d requests", hits)
	}
}
