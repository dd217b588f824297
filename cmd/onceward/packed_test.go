package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward/internal/proctest"
)

const packedNote = `apiVersion: onceward/v1
kind: Tool
metadata: {name: notes.packed, owner: x, description: a note at a provider that packs its answers}
spec:
  effect: unsafe_write
  key: [input.id]
  request: {method: POST, url: '${env.PACKING_URL}/notes', json: {id: '${input.id}'}}
`

// packingProvider answers in chunks of gzip, with what belongs to one delivery.
func packingProvider(t *testing.T) (url string, writes *atomic.Int64) {
	t.Helper()
	writes = &atomic.Int64{}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writes.Add(1)
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Encoding", "gzip")
		h.Set("Set-Cookie", "session=1")
		h["Link"] = []string{"</a>", "</b>"}
		h.Set("Location", "/notes/7")
		w.WriteHeader(http.StatusCreated)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write([]byte(`{"id":7,"text":"Grüße"}`))
		_ = z.Close()
		half := packed.Len() / 2
		_, _ = w.Write(packed.Bytes()[:half])
		_ = http.NewResponseController(w).Flush() // without a length: in chunks
		_, _ = w.Write(packed.Bytes()[half:])
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return "http://" + l.Addr().String(), writes
}

// The provider's first answer comes packed, in chunks, and with what belongs to
// one delivery only. What is replayed, by another process too, is the whole
// content, and no header speaks of another form of it.
func TestAPackedAnswerIsReplayedUnpackedWithHeadersThatAgree(t *testing.T) {
	t.Parallel()
	proctest.Binary(t)
	url, writes := packingProvider(t)
	servers := started(t, 2, sqliteFile(t)(0), contractFile(t, packedNote), "PACKING_URL="+url)
	type result struct {
		Status   int                 `json:"status"`
		Headers  map[string][]string `json:"headers"`
		Body     json.RawMessage     `json:"body"`
		BodyKept bool                `json:"body_kept"`
	}
	want := result{201, map[string][]string{"Content-Type": {"application/json"}, "Link": {"</a>", "</b>"}, "Location": {"/notes/7"}}, json.RawMessage(`{"id":7,"text":"Grüße"}`), true}
	for i, server := range []*proctest.Server{servers[0], servers[0], servers[1]} {
		body, length := raw(t, server.URL()+"/v1/tools/notes.packed/call?wait=20s", `{"id":"a"}`)
		var got struct {
			Decision  string `json:"decision"`
			Operation struct {
				Result result `json:"result"`
			} `json:"operation"`
		}
		if err := json.Unmarshal(body, &got); err != nil || length != int64(len(body)) {
			t.Fatalf("answer %d: %d bytes announced, %d came, %v", i, length, len(body), err)
		}
		if diff := cmp.Diff(want, got.Operation.Result); diff != "" || (got.Decision == "fresh") != (i == 0) {
			t.Errorf("answer %d is %s, its result differs (-want +got):\n%s", i, got.Decision, diff)
		}
	}
	if n := writes.Load(); n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
}

// raw posts a body and returns the answer's, with the length that was announced.
func raw(t *testing.T, url, body string) ([]byte, int64) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return data, res.ContentLength
}
