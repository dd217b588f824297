package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
)

// A server process is sent what strangers send: each is refused with a status
// that says so, nothing of it becomes an operation or a file, the log has no line
// of theirs, and whoever asks properly is answered all along.
func TestServerAnswersOnAndDoesNothingWhateverAStrangerSends(t *testing.T) {
	t.Parallel()
	provider := proctest.NewProvider(t)
	dir := t.TempDir()
	s := simServer(t, "sqlite:"+filepath.Join(dir, "ledger.db"), provider)
	s.Start("")
	bomb := zeros(t, 64<<20)
	body := `{"source":"s","event_id":"e","subject":"x"}`
	post := func(path, more, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", path, s.Listen, more, len(body), body)
	}
	get := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: " + s.Listen + "\r\n\r\n" }
	const call = "/v1/tools/tickets.create/call"
	for name, c := range map[string]struct{ raw, status string }{
		"a packed body that unpacks to 64 MiB": {post(call, "Content-Encoding: gzip\r\n", bomb), "415"},
		"a packed webhook":                     {post("/v1/hooks/shop", "Content-Encoding: gzip\r\n", bomb), "404"},
		"a header of 100 KiB":                  {post(call, "X-Long: "+strings.Repeat("a", 100<<10)+"\r\n", body), "431"},
		"ten thousand headers":                 {post(call, strings.Repeat("X-Many: a\r\n", 10_000), body), "431"},
		"a path upwards":                       {get("/../../../../etc/passwd"), "301 307 308 404"},
		"an escaped path upwards":              {get("/console/..%2f..%2f..%2fetc%2fpasswd"), "404 307"},
		"a path upwards in a name":             {post("/v1/tools/..%2f..%2fetc/call", "", body), "400 404"},
		"a line end in a path":                 {get("/v1/operations%0d%0aSet-Cookie:%20a=b"), "404 400"},
		"a line end in a key":                  {post(call, "Idempotency-Key: a\r\n b\r\n", body), "400"},
		"a forged line for the log":            {get("/v1/operations/%0a%7b%22level%22:%22ERROR%22,%22msg%22:%22forged%22%7d"), "404 400"},
		"the name of another host":             {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"},
		"a body of two lengths":                {"POST " + call + " HTTP/1.1\r\nHost: " + s.Listen + "\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", "400"},
		"a chunk without end":                  {"POST " + call + " HTTP/1.1\r\nHost: " + s.Listen + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", "400 408"},
		"an input of ten thousand levels":      {post(call, "", strings.Repeat("[", 10_000)), "413 400"},
		"bytes of TLS":                         {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400"},
	} {
		if got := exchangeRaw(t, s.Listen, c.raw); !strings.Contains(" "+c.status+" ", " "+got+" ") {
			t.Errorf("%s is answered %s, want %s", name, got, c.status)
		}
	}
	slow := make([]net.Conn, 50)
	for i := range slow {
		slow[i] = dialled(t, s.Listen)
		if _, err := io.WriteString(slow[i], "POST "+call+" HTTP/1.1\r\nHost: "); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := s.Call(t.Context(), "tickets.create", body, 5*time.Second); err != nil || a.Status != http.StatusOK {
		t.Fatalf("beside fifty that dawdle a good call is answered %+v, %v", a, err)
	}
	if n := provider.Summary().Count; n != 1 {
		t.Errorf("the provider counts %d effects, want the one of the good call", n)
	}
	if log := s.Log(); strings.Contains(log, "\n{\"level\":\"ERROR\",\"msg\":\"forged\"}") || strings.Contains(log, "panic") {
		t.Errorf("the log says:\n%s", log)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), "ledger.db") {
			t.Errorf("there is a file %s", f.Name())
		}
	}
}

// zeros are bytes that unpack to n zeros.
func zeros(t *testing.T, n int64) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.CopyN(z, zeroReader{}, n); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

type zeroReader struct{}

// Read implements io.Reader.
func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func dialled(t *testing.T, address string) net.Conn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// exchangeRaw sends bytes and returns the status of the answer.
func exchangeRaw(t *testing.T, address, raw string) string {
	t.Helper()
	c := dialled(t, address)
	go func() { _, _ = io.WriteString(c, raw) }() // refused before it is read to its end
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	_, rest, _ := strings.Cut(line, " ")
	status, _, _ := strings.Cut(rest, " ")
	return status
}
