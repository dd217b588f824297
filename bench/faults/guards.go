package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// said is what the caller is told in the end.
type said uint8

const (
	saidFailed  said = iota
	saidDone         // it happened
	saidAsk          // a person has to find out
	saidNothing      // the worker died before it could say anything
)

// triesMax and pause are how hard the guards without a ledger try.
const (
	triesMax = 3
	pause    = 100 * time.Millisecond
)

// guard handles one delivery of an intention. dies lets it die after the
// provider's first answer.
type guard struct {
	name   string
	handle func(ctx context.Context, c *class, ref, words string, dies bool) (said, error)
}

// caller speaks to the provider as a program without a ledger does.
type caller struct {
	http   *http.Client
	origin string
}

func newCaller(origin string) *caller {
	// A connection for each request: Go sends a request with an Idempotency-Key
	// again by itself when a kept connection turns out to be dead.
	return &caller{http: &http.Client{Timeout: deadline, Transport: &http.Transport{DisableKeepAlives: true}}, origin: origin}
}

// write sends the request once. An answer that cannot be read is no success.
func (c *caller) write(ctx context.Context, cl *class, ref, words, key string) bool {
	method, path, body := cl.write(ref, words)
	status, answer, err := c.do(ctx, method, path, body, key)
	return err == nil && status >= 200 && status < 300 && json.Valid(answer)
}

// look asks whether the effect is there.
func (c *caller) look(ctx context.Context, cl *class, ref string) bool {
	if cl.look == nil {
		return false
	}
	status, answer, err := c.do(ctx, http.MethodGet, cl.look(ref), "", "")
	if err != nil || status != http.StatusOK {
		return false
	}
	var found struct {
		Items []json.RawMessage `json:"items"`
		ID    string            `json:"id"`
	}
	return json.Unmarshal(answer, &found) == nil && (len(found.Items) > 0 || found.ID != "")
}

func (c *caller) do(ctx context.Context, method, path, body, key string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.origin+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	answer, err := io.ReadAll(res.Body)
	if closeErr := res.Body.Close(); err == nil {
		err = closeErr
	}
	return res.StatusCode, answer, err
}

// noGuard calls once and believes what it sees.
func (c *caller) noGuard(ctx context.Context, cl *class, ref, words string, dies bool) (said, error) {
	done := c.write(ctx, cl, ref, words, rand.Text())
	if dies {
		return saidNothing, nil
	}
	return verdict(done), nil
}

// retry calls until something looks like success, as most clients do: with one
// random key for each delivery, where the provider takes keys.
func (c *caller) retry(ctx context.Context, cl *class, ref, words string, dies bool) (said, error) {
	key := rand.Text()
	for try := range triesMax {
		if try > 0 {
			rest(ctx, pause<<try)
		}
		done := c.write(ctx, cl, ref, words, key)
		if dies {
			return saidNothing, nil
		}
		if done {
			return saidDone, nil
		}
	}
	return saidFailed, nil
}

// check looks before each write, and writes where it sees nothing.
func (c *caller) check(ctx context.Context, cl *class, ref, words string, dies bool) (said, error) {
	key := rand.Text()
	for try := range triesMax {
		if try > 0 {
			rest(ctx, pause<<try)
		}
		if c.look(ctx, cl, ref) {
			return saidDone, nil
		}
		done := c.write(ctx, cl, ref, words, key)
		if dies {
			return saidNothing, nil
		}
		if done {
			return saidDone, nil
		}
	}
	return verdict(c.look(ctx, cl, ref)), nil
}

// rest waits, or until the context ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func verdict(done bool) said {
	if done {
		return saidDone
	}
	return saidFailed
}

func (s said) String() string {
	switch s {
	case saidFailed:
		return "failed"
	case saidDone:
		return "done"
	case saidAsk:
		return "ask"
	case saidNothing:
		return "nothing"
	}
	return fmt.Sprintf("said(%d)", uint8(s))
}
