package httpcall_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

func gzipped(tb testing.TB, text string) string {
	tb.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func withBody(head, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

func TestBytesAndHeadersOfAnAnswerAgree(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(`{"id":"t1"}`, 1000)
	packed := gzipped(t, text)
	again := "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n"
	for name, c := range map[string]struct {
		raw      string
		body     string
		encoding string
		kept     bool // the connection is used again
	}{
		"length":              {withBody("", text), text, "", true},
		"empty":               {withBody("", ""), "", "", true},
		"no content":          {"HTTP/1.1 204 No Content\r\n\r\n", "", "", true},
		"chunked":             {again + "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: 1\r\n\r\n", "hello!", "", true},
		"gzip":                {withBody("Content-Encoding: gzip\r\n", packed), text, "", true},
		"x-gzip chunked":      {again + fmt.Sprintf("Content-Encoding: X-Gzip\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(packed), packed), text, "", true},
		"gzip and empty":      {withBody("Content-Encoding: gzip\r\n", ""), "", "", true},
		"identity":            {withBody("Content-Encoding: identity\r\n", text), text, "identity", true},
		"connection: close":   {withBody("Connection: close\r\n", "a"), "a", "", false},
		"HTTP/1.0":            {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "a", "", false},
		"more than announced": {withBody("", "a") + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "a", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := providertest.NewUpstream(t, providertest.Answer(c.raw))
			client := newClient(t, httpcall.Options{})
			ev := client.Send(t.Context(), post("http://"+up.Addr()), write(up.Addr()))
			if ev.BodyCut || ev.BodyTooBig || string(ev.Body) != c.body || ev.Body == nil || ev.ErrorCode != "" {
				t.Fatalf("evidence = %s", show(ev))
			}
			if got := value(ev, "Content-Encoding"); got != c.encoding {
				t.Errorf("Content-Encoding = %q", got)
			}
			if l := value(ev, "Content-Length"); l != "" && l != fmt.Sprint(len(c.body)) {
				t.Errorf("Content-Length = %s of %d bytes", l, len(c.body))
			}
			if ev := client.Send(t.Context(), post("http://"+up.Addr()), write(up.Addr())); string(ev.Body) != `{"id":"t1"}` {
				t.Errorf("the next exchange got %s", show(ev))
			}
			if kept := up.Connections() == 1; kept != c.kept {
				t.Errorf("connection kept: %v, want %v", kept, c.kept)
			}
		})
	}
}

func TestAnswerUntilTheEndOfTheStreamIsWhole(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t, providertest.AnswerAndClose("HTTP/1.1 200 OK\r\n\r\nhello"))
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), post("http://"+up.Addr()), write(up.Addr()))
	if string(ev.Body) != "hello" || ev.BodyCut {
		t.Errorf("evidence = %s", show(ev))
	}
}

func TestBodyThatCannotBeReadIsSaidToBeCut(t *testing.T) {
	t.Parallel()
	packed := gzipped(t, strings.Repeat("abc", 1000))
	for name, c := range map[string]struct{ raw, code string }{
		"unknown encoding": {withBody("Content-Encoding: br\r\n", "xyz"), "content_encoding"},
		"two encodings":    {withBody("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n", packed), "content_encoding"},
		"broken gzip":      {withBody("Content-Encoding: gzip\r\n", "no gzip at all"), "body_cut"},
		"cut gzip":         {withBody("Content-Encoding: gzip\r\n", packed[:20]), "body_cut"},
		"broken chunk":     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "body_cut"},
		"gzip and more":    {withBody("Content-Encoding: gzip\r\n", packed+"garbage"), "body_cut"},
	} {
		up := providertest.NewUpstream(t, providertest.Answer(c.raw))
		client := newClient(t, httpcall.Options{})
		ev := client.Send(t.Context(), post("http://"+up.Addr()), write(up.Addr()))
		if ev.Status != 200 || !ev.BodyCut || ev.ErrorClass != onceward.ClassNone || ev.ErrorCode != c.code || ev.LastByteAt.IsZero() {
			t.Errorf("%s: %s", name, show(ev))
		}
		client.Send(t.Context(), post("http://"+up.Addr()), write(up.Addr()))
		if up.Connections() != 2 {
			t.Errorf("%s: the connection was kept", name)
		}
	}
}

func TestBodyThatStopsHalfwayEndsAtTheDeadlineWithItsHead(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t, providertest.AnswerAndHang("HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhalf"))
	opts := write(up.Addr())
	opts.Deadline = time.Second
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), post("http://"+up.Addr()), opts)
	if ev.Status != 201 || string(ev.Body) != "half" || !ev.BodyCut || ev.ErrorCode != "deadline" || ev.ErrorClass != onceward.ClassNone {
		t.Errorf("evidence = %s", show(ev))
	}
}

// A small answer that unpacks to a large one must cost no more than the limit.
func TestPackedBodyIsLimitedByItsUnpackedSize(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 4 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	up := providertest.NewUpstream(t, providertest.Answer(withBody("Content-Encoding: gzip\r\n", b.String())))
	opts := write(up.Addr())
	opts.JudgeBytes = 1 << 16
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), post("http://"+up.Addr()), opts)
	if !ev.BodyTooBig || len(ev.Body) != 1<<16 || cap(ev.Body) > 4<<16 {
		t.Errorf("too big %v, %d bytes of %d", ev.BodyTooBig, len(ev.Body), cap(ev.Body))
	}
}

func TestLengthThatIsNotMetCostsNoMemory(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t, providertest.AnswerAndClose("HTTP/1.1 200 OK\r\nContent-Length: 15000000\r\n\r\nhalf"))
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), post("http://"+up.Addr()), write(up.Addr()))
	if string(ev.Body) != "half" || !ev.BodyCut || cap(ev.Body) > 128<<10 {
		t.Errorf("%d bytes of %d, cut %v", len(ev.Body), cap(ev.Body), ev.BodyCut)
	}
}

func TestAnswerToHeadHasNoBody(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t, providertest.Answer("HTTP/1.1 200 OK\r\nContent-Length: 500\r\nContent-Encoding: gzip\r\n\r\n"))
	c := newClient(t, httpcall.Options{})
	req := get("http://" + up.Addr() + "/")
	req.Method = "HEAD"
	ev := c.Send(t.Context(), req, read(up.Addr()))
	if ev.Status != 200 || len(ev.Body) != 0 || ev.BodyCut || value(ev, "Content-Length") != "500" {
		t.Errorf("evidence = %s", show(ev))
	}
	if ev := c.Send(t.Context(), get("http://"+up.Addr()+"/"), read(up.Addr())); ev.Status != 200 || up.Connections() != 1 {
		t.Errorf("next on the connection: %s", show(ev))
	}
}

func TestHeadersOfAnAnswerAreTextInAFixedOrder(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t, providertest.Answer("HTTP/1.1 200 OK\r\nx-b: 1\r\nX-A: caf\xe9\r\nx-B: 2\r\nProxy-Status: x\r\nAuthentication-Info: y\r\nContent-Length: 0\r\n\r\n"))
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), post("http://"+up.Addr()), write(up.Addr()))
	want := "[{Content-Length 0} {X-A caf\ufffd} {X-B 1} {X-B 2}]"
	if got := fmt.Sprint(ev.Header); got != want {
		t.Errorf("header = %s, want %s", got, want)
	}
}

func TestSecretsOfEveryKindAreLookedFor(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{ // header value: what must not come back
		"Authorization: Basic dXNlcjpodW50ZXIyLXBhc3M=": "hunter2-pass",
		"Cookie: a=1; sid=abcdefgh1234":                 "abcdefgh1234",
		"X-Api-Key: key-0123456789":                     "key-0123456789",
		"PRIVATE-TOKEN: glpat-0123456789":               "glpat-0123456789",
		"X-Hub-Signature-256: sha256=0011223344":        "sha256=0011223344",
	}
	for line, secret := range secrets {
		name, val, _ := strings.Cut(line, ": ")
		up := providertest.NewUpstream(t, providertest.Answer(withBody("X-Echo: "+secret+"\r\n", "saw "+secret+"!")))
		req := post("http://" + up.Addr())
		req.Header = append(req.Header, onceward.HeaderField{Name: name, Value: val})
		ev := newClient(t, httpcall.Options{}).Send(t.Context(), req, write(up.Addr()))
		if value(ev, "X-Echo") != "[redacted]" || string(ev.Body) != "saw [redacted]!" {
			t.Errorf("%s: %s", name, show(ev))
		}
	}
	// The key that makes the write repeatable is no secret: its echo is evidence.
	up := providertest.NewUpstream(t, providertest.Answer(withBody("Idempotency-Key: ordinary-key-1\r\n", "x")))
	req := post("http://" + up.Addr())
	req.Header[1].Value = "ordinary-key-1"
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), req, write(up.Addr()))
	if value(ev, "Idempotency-Key") != "ordinary-key-1" {
		t.Errorf("evidence = %s", show(ev))
	}
}
