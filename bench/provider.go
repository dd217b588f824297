package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"

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
`

var input = []byte(`{"amount":4200,"currency":"EUR"}`)

// newTarget is a provider that does nothing, and counts.
func newTarget() (*httptest.Server, *atomic.Int64) {
	var calls atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		n := calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":"ch_%016d","amount":4200,"ok":true}`, n)
	})), &calls
}

func loadTool(target string) (onceward.Tool, error) {
	env := func(string) (string, bool) { return target, true }
	tools, err := contract.Load([]byte(contractYAML), "bench.yaml", contract.Options{Env: env, ByteTail: contract.NoByteTail})
	if err != nil {
		return nil, err
	}
	return tools[0], nil
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

// overHTTP asks a server under a key of its own.
func overHTTP(url, prefix string, want int) work {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512, DialContext: (&net.Dialer{}).DialContext}}
	return func(ctx context.Context, n int64) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(input))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", prefix+strconv.FormatInt(n, 10))
		res, err := c.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		if err := res.Body.Close(); err != nil {
			return err
		}
		if res.StatusCode != want {
			return fmt.Errorf("%s: status %d: %.200s", url, res.StatusCode, body)
		}
		return nil
	}
}
