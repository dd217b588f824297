package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// answer is what a caller reads of an answer.
type answer struct {
	Status    int
	Decision  string    `json:"decision"`
	Code      string    `json:"code"` // of a refusal
	Detail    string    `json:"detail"`
	Operation operation `json:"operation"`
	Verdict   string    `json:"verdict"` // of a replay plan
	Reasons   []string  `json:"reasons"`
	Replay    struct {
		ID    string `json:"id"`
		State string `json:"state"`
	} `json:"replay"` // of many operations
}

// operation is what a caller reads of an operation.
type operation struct {
	ID              string  `json:"id"`
	ContractVersion string  `json:"contract_version"`
	Digest          string  `json:"digest"`
	State           string  `json:"state"`
	Reference       string  `json:"reference"`
	Attempts        int     `json:"attempts"`
	OpenAttempts    int     `json:"open_attempts"`
	Parked          string  `json:"parked"`
	ReviewReason    string  `json:"review_reason"`
	Events          []event `json:"events"`
}

type event struct {
	Event string `json:"event"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// ended reports whether nothing but, at most, a person can go on.
func (o *operation) ended() bool {
	return slices.Contains([]string{"succeeded", "failed", "cancelled", "abandoned", "compensated", "needs_review"}, o.State)
}

// caller is a client that gives up and asks again as callers do.
var caller = &http.Client{Timeout: 90 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// ask makes one request of a server. An error means that there was no answer.
func ask(ctx context.Context, method, address string, body []byte, header ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := caller.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("ask the server: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read the server's answer: %w", err)
	}
	a := answer{Status: res.StatusCode}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("read the server's answer %d: %w", res.StatusCode, err)
	}
	return a, nil
}

// deliver brings the intention to a server once.
func (st *stage) deliver(ctx context.Context, p Process, input []byte, wait time.Duration) (answer, error) {
	st.mu.Lock()
	st.row.Deliveries++
	if st.began.IsZero() {
		st.began = time.Now()
	}
	st.mu.Unlock()
	var header []string
	if st.s.fromCaller {
		header = []string{"Idempotency-Key", st.mark}
	}
	a, err := ask(ctx, http.MethodPost, p.URL()+"/v1/tools/"+url.PathEscape(string(st.s.info.Name))+"/call?wait="+wait.String(), input, header...)
	if err == nil && a.Operation.ID != "" {
		st.mu.Lock()
		st.op = a.Operation
		st.mu.Unlock()
	}
	return a, err
}

// look reads the operation with its timeline.
func (st *stage) look(ctx context.Context, p Process) (operation, error) {
	st.mu.Lock()
	id := st.op.ID
	st.mu.Unlock()
	if id == "" {
		return operation{}, nil
	}
	a, err := ask(ctx, http.MethodGet, p.URL()+"/v1/operations/"+id, nil)
	if err != nil {
		return operation{}, err
	}
	if a.Status != http.StatusOK {
		return operation{}, fmt.Errorf("look at operation %s: answered %d %s", id, a.Status, a.Code)
	}
	st.mu.Lock()
	st.op = a.Operation
	st.mu.Unlock()
	return a.Operation, nil
}

// act posts an action on the operation.
func (st *stage) act(ctx context.Context, p Process, action string, body any) (answer, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	st.mu.Lock()
	id := st.op.ID
	st.mu.Unlock()
	return ask(ctx, http.MethodPost, p.URL()+"/v1/operations/"+id+"/"+action, data)
}

// await looks until a condition holds.
func (st *stage) await(ctx context.Context, p Process, what string, within time.Duration, holds func(*operation) bool) (operation, error) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		op, err := st.look(ctx, p)
		if err == nil && holds(&op) {
			return op, nil
		}
		select {
		case <-time.After(lookEvery):
		case <-p.Done():
			return op, fmt.Errorf("the server ended (%s) while it was awaited that %s", p.End(), what)
		case <-deadline.C:
			return op, &tooLong{what, within, op.State}
		case <-ctx.Done():
			return op, ctx.Err()
		}
	}
}

const lookEvery = 40 * time.Millisecond

// tooLong says what did not happen in time.
type tooLong struct {
	what   string
	within time.Duration
	state  string
}

func (e *tooLong) Error() string {
	return fmt.Sprintf("it was awaited for %s that %s, and the operation is %s", e.within.Round(time.Second), e.what, e.state)
}
