package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

const contractYAML = `apiVersion: onceward/v1
kind: Tool
metadata: {name: bench.charge, owner: bench, description: Charge at a server that does nothing}
spec:
  effect: keyed_write
  input: {type: object, properties: {amount: {type: integer}, currency: {type: string}}}
  request:
    method: POST
    url: ${env.TARGET}
    json: {amount: '${input.amount}', currency: '${input.currency}'}
    deadline: 10s
  provider_key: {in: header, name: Idempotency-Key, window: 24h, window_kind: guaranteed, on_repeat: replay}
  outcomes:
    - {when: 'response.status == 201', is: done, reference: '${response.json.id}'}
  horizon: 12h
---
apiVersion: onceward/v1
kind: Tool
metadata: {name: bench.lossy, owner: bench, description: Charge at a server that loses every third answer}
spec:
  effect: keyed_write
  input: {type: object, properties: {amount: {type: integer}, currency: {type: string}}}
  request:
    method: POST
    url: ${env.TARGET}/lossy
    json: {amount: '${input.amount}', currency: '${input.currency}'}
    deadline: 10s
  provider_key: {in: header, name: Idempotency-Key, window: 24h, window_kind: guaranteed, on_repeat: replay}
  outcomes:
    - {when: 'response.status == 201', is: done, reference: '${response.json.id}'}
  probe:
    request: {url: '${env.TARGET}/find?key=${operation.provider_key}'}
    found: '${response.json.found}'
    reference: '${item.id}'
  retry: {backoff: {initial: 10ms, max: 100ms}}
  horizon: 12h
`

// Names of the tools.
const (
	plainTool onceward.ToolName = "bench.charge"
	lossyTool onceward.ToolName = "bench.lossy"
)

var input = []byte(`{"amount":4200,"currency":"EUR"}`)

// newTarget is a provider that does nothing, and counts. Under /lossy it cuts the
// connection in place of every third answer, and says under /find what it did.
func newTarget() (*httptest.Server, *atomic.Int64) {
	var calls, turn atomic.Int64
	var known sync.Map
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/find" {
			found := "[]"
			if id, there := known.Load(r.URL.Query().Get("key")); there {
				found = fmt.Sprintf(`[{"id":"ch_%016d"}]`, id)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"found":`+found+`}`)
			return
		}
		n := calls.Add(1)
		if r.URL.Path == "/lossy" {
			known.Store(r.Header.Get("Idempotency-Key"), n)
			if turn.Add(1)%3 == 0 {
				panic(http.ErrAbortHandler)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":"ch_%016d","amount":4200,"ok":true}`, n)
	})), &calls
}

// loadTools compiles the contracts, the plain one first.
func loadTools(target string) ([]onceward.Tool, error) {
	env := func(string) (string, bool) { return target, true }
	loaded, err := contract.Load([]byte(contractYAML), "bench.yaml", contract.Options{Env: env, ByteTail: contract.NoByteTail})
	if err != nil {
		return nil, err
	}
	tools := make([]onceward.Tool, len(loaded))
	for i, t := range loaded {
		tools[i] = t
	}
	return tools, nil
}

// bare puts one request on the wire, as the ledger would.
func bare(p onceward.Provider, target, host string) work {
	return func(ctx context.Context, n int64) error {
		ev := p.Send(ctx, &onceward.Request{Method: http.MethodPost, URL: target, Body: input,
			Header: []onceward.HeaderField{{Name: "Content-Type", Value: "application/json"}, {Name: "Idempotency-Key", Value: strconv.FormatInt(n, 10)}}},
			onceward.SendOptions{Write: true, Deadline: 10e9, Hosts: []string{host}})
		if ev.Status != http.StatusCreated {
			return fmt.Errorf("bare request: status %d %s", ev.Status, ev.ErrorText)
		}
		return nil
	}
}

// newProxy passes requests on without a ledger: the ceiling of any server.
func newProxy(p onceward.Provider, target, host string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		ev := p.Send(r.Context(), &onceward.Request{Method: http.MethodPost, URL: target, Body: body,
			Header: []onceward.HeaderField{{Name: "Content-Type", Value: "application/json"}, {Name: "Idempotency-Key", Value: r.Header.Get("Idempotency-Key")}}},
			onceward.SendOptions{Write: true, Deadline: 10e9, Hosts: []string{host}})
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(ev.Status)
		_, _ = w.Write(ev.Body)
	}))
}

// overHTTP asks a server under a key of its own, over a client that costs as
// little as can be, so that what is measured is the server.
func overHTTP(p onceward.Provider, target, prefix string, want int) work {
	_, rest, _ := strings.Cut(target, "://")
	host, _, _ := strings.Cut(rest, "/")
	return func(ctx context.Context, n int64) error {
		ev := p.Send(ctx, &onceward.Request{Method: http.MethodPost, URL: target, Body: input,
			Header: []onceward.HeaderField{{Name: "Content-Type", Value: "application/json"}, {Name: "Idempotency-Key", Value: prefix + strconv.FormatInt(n, 10)}}},
			onceward.SendOptions{Write: true, Deadline: time.Minute, Hosts: []string{host}})
		if ev.Status != want {
			return fmt.Errorf("%s: status %d %s: %.200s", target, ev.Status, ev.ErrorText, ev.Body)
		}
		return nil
	}
}
