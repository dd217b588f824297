package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/proctest"
)

// The first thing that anybody runs ends with its table, and with the right
// number of effects in every row of it.
func TestTheDemonstrationEndsWithItsTable(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), proctest.Binary(t), "demo").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, row := range []string{
		"same event, ten times at once", "answer lost after the effect", "process killed after the effect", "same key, another amount", "a write that nobody can look up",
	} {
		if !strings.Contains(string(out), row) {
			t.Errorf("no row %q in\n%s", row, out)
		}
	}
}

// Whoever keeps the demonstration up signs in with what it prints, and finds work.
func TestKeptDemonstrationHasAStoryInItsConsole(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), proctest.Binary(t), "demo", "--keep")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	said, base, token := "", "", ""
	for lines := bufio.NewScanner(out); token == "" && lines.Scan(); {
		said += lines.Text() + "\n"
		if at, ok := strings.CutPrefix(lines.Text(), "The console is at"); ok {
			base = strings.TrimSpace(at)
		}
		if with, ok := strings.CutPrefix(lines.Text(), "Sign in with"); ok {
			token = strings.TrimSpace(with)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if base == "" || token == "" {
		t.Fatalf("it does not say how to sign in:\n%s", said)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	read := func(res *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v", res.Request.URL, res.StatusCode, err)
		}
		return string(text)
	}
	form := regexp.MustCompile(`name="form" value="([^"]*)"`).FindStringSubmatch(read(browser.Get(base + "/signin")))
	overview := read(browser.PostForm(base+"/signin", url.Values{"form": {form[1]}, "to": {"/"}, "token": {token}}))
	for _, want := range []string{"The invariant is whole.", "Reviews", "Approvals", "tickets.create"} {
		if !strings.Contains(overview, want) {
			t.Errorf("the overview lacks %q", want)
		}
	}
	week := read(browser.Get(base + "/?span=week"))
	for _, kind := range []string{"Fresh", "Replayed", "Joined", "Escalated", "Blocked", "within 1 s", "within 10 s", "within 1 h", "later"} {
		if !regexp.MustCompile(kind + ` <b>[1-9]`).MatchString(week) {
			t.Errorf("the week's charts count nothing as %s", kind)
		}
	}
	if days := len(regexp.MustCompile(`<tr><td><time`).FindAllString(week, -1)); days < 40 { // in steps of six hours, in two tables
		t.Errorf("the week's charts have %d times", days)
	}
	for page, want := range map[string]string{"/runs": "complaints.answer", "/operations?state=compensated": "payments.create", "/replays": "can they go again?"} {
		if !strings.Contains(read(browser.Get(base+page)), want) {
			t.Errorf("%s lacks %q", page, want)
		}
	}
	if list := read(browser.Get(base + "/approvals?for=me")); !strings.Contains(list, "urgent-1") {
		t.Error("no approval waits for whoever signs in")
	}
	if list := read(browser.Get(base + "/reviews")); !strings.Contains(list, "fax-1") {
		t.Error("no review waits")
	}
}
