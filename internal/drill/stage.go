package drill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/faultproxy"
)

// stage is the world of one scenario: a ledger, proxies before the provider,
// servers, and what was seen.
type stage struct {
	r    *runner
	s    *subject
	sc   *Scenario
	row  *Row
	mark string

	db      string
	drop    func() error
	file    string         // the copy that the servers run
	through *contract.Tool // that copy, here
	direct  *contract.Tool // a copy that goes past the proxies, for counting
	proxies []*faultproxy.HTTP
	sandbox Sandbox
	servers []Process

	input []byte
	ready *onceward.Prepared

	mu     sync.Mutex
	began  time.Time // of the first delivery
	ended  time.Time // of the operation
	op     operation
	queue  []faultproxy.HTTPFault // of the next writes
	always faultproxy.HTTPFault   // of those for which none is queued
	writes []faultproxy.Exchange  // that were seen, forwarded or not
	looks  []faultproxy.Exchange  // look-ups that were seen
	found  int                    // effects that the look-up showed when they were counted; -1: it said nothing
	notify chan struct{}          // closed and renewed at each write that arrives
	begun  int                    // writes that arrived at the proxy
	pauses int                    // times that a person had to resume the tool
}

// open sets the stage. What was opened is closed by close, also after an error.
func (st *stage) open(ctx context.Context, dir string) (err error) {
	st.notify = make(chan struct{})
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder for the scenario: %w", err)
	}
	if st.db, st.drop, err = st.r.opts.Ledger(ctx, dir); err != nil {
		return fmt.Errorf("make a ledger for the scenario: %w", err)
	}
	if st.input, err = st.s.marked(st.mark); err != nil {
		return err
	}
	if st.sc.approves && !st.s.asking.leaf.plain() {
		st.input = withValue(st.input, st.s.asking.leaf, st.s.asking.value)
	}
	if err := st.derive(ctx, filepath.Join(dir, "contract.yaml")); err != nil {
		return err
	}
	in := &onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: st.s.info.Name, Input: st.input}
	if st.s.fromCaller {
		in.CallerKey = onceward.Key(st.mark)
	}
	if st.ready, err = st.through.Prepare(in, 0); err != nil {
		return err
	}
	st.row.Keys = []string{string(st.ready.Key)}
	return nil
}

// derive writes the copy that goes through proxies, and reads it and one that
// does not.
func (st *stage) derive(ctx context.Context, file string) (err error) {
	upstream := func(origin string) string { return origin }
	if st.s.Open != nil {
		if st.sandbox, err = st.s.Open(ctx); err != nil {
			return fmt.Errorf("start a provider: %w", err)
		}
		upstream = func(string) string { return st.sandbox.Origin }
	}
	through, direct := map[string]string{}, map[string]string{}
	for _, origin := range st.s.Tool.Origins() {
		p, err := faultproxy.StartHTTP(faultproxy.HTTPOptions{Upstream: upstream(origin), Choose: st.choose, Seen: st.seen})
		if err != nil {
			return err
		}
		st.proxies = append(st.proxies, p)
		through[origin], direct[origin] = p.URL(), upstream(origin)
	}
	d := contract.Derivation{Origins: through, Durations: st.s.waits.durations(), Without: st.without()}
	if st.sc.alter != nil {
		st.sc.alter(st.s, &d)
	}
	text, err := st.s.Tool.Derive(d)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write the copy that is drilled: %w", err)
	}
	st.file = file
	if st.through, err = st.r.load(text, file); err != nil {
		return err
	}
	d.Origins = direct
	if text, err = st.s.Tool.Derive(d); err != nil {
		return err
	}
	st.direct, err = st.r.load(text, file)
	return err
}

// without lists what the copy leaves out.
func (st *stage) without() []string {
	out := []string{"spec.sandbox"}
	if !st.sc.approves {
		out = append(out, "spec.approval")
	} else if _, found := st.s.Tool.FieldLine("spec.approval.remind"); found {
		out = append(out, "spec.approval.remind") // they would be operations of other contracts
	}
	if r := st.s.info.Policy.Rate; r.Count > 0 && r.Per/time.Duration(r.Count) > 200*time.Millisecond {
		out = append(out, "spec.rate")
	}
	return out
}

// start starts a server, to die at a crash point if one is given.
func (st *stage) start(ctx context.Context, crash string) (Process, error) {
	p, err := st.r.opts.Launch(ctx, Launch{DB: st.db, Contracts: st.file, Crash: crash})
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	st.servers = append(st.servers, p)
	return p, nil
}

// close ends everything, in an order in which nothing waits for the other.
func (st *stage) close() {
	for _, p := range st.servers {
		_ = p.Signal(syscall.SIGKILL)
	}
	for _, p := range st.servers {
		<-p.Done()
	}
	for _, p := range st.proxies {
		_ = p.Close()
	}
	if st.sandbox.Close != nil {
		st.sandbox.Close()
	}
	if st.drop != nil {
		if err := st.drop(); err != nil { // it stands in the user's database, and nobody else would tell
			st.row.Why = strings.TrimPrefix(st.row.Why+"; ", "; ") + "its ledger was not removed: " + err.Error()
		}
	}
}

// logs are the ends of what the servers said.
func (st *stage) logs() string {
	var b strings.Builder
	for i, p := range st.servers {
		fmt.Fprintf(&b, "server %d:\n%s\n", i+1, p.Log())
	}
	return b.String()
}

// next queues faults for the next writes.
func (st *stage) next(faults ...faultproxy.HTTPFault) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.queue = append(st.queue, faults...)
}

// fromNowOn sets the fault of every write for which none is queued.
func (st *stage) fromNowOn(f faultproxy.HTTPFault) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.queue, st.always = nil, f
}

// isWrite tells the contract's write from its look-ups: by method and path, and
// by its bytes where a look-up goes to the same place (GraphQL).
func (st *stage) isWrite(method, uri string, body []byte) bool {
	if st.ready == nil || st.ready.Request == nil || method != st.ready.Request.Method {
		return false
	}
	u, err := url.Parse(st.ready.Request.URL)
	if err != nil {
		return false
	}
	path, _, _ := strings.Cut(uri, "?")
	if path != u.EscapedPath() {
		return false
	}
	look, err := st.lookUp(st.through)
	if err != nil || look == nil || look.Method != method {
		return true
	}
	lu, err := url.Parse(look.URL)
	return err != nil || lu.EscapedPath() != path || !bytes.Equal(body, look.Body)
}

// choose gives each write its fault; look-ups pass.
func (st *stage) choose(method, uri string, body []byte) faultproxy.HTTPFault {
	if !st.isWrite(method, uri, body) {
		return faultproxy.HTTPFault{}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.begun++
	close(st.notify)
	st.notify = make(chan struct{})
	if len(st.queue) == 0 {
		return st.always
	}
	f := st.queue[0]
	st.queue = st.queue[1:]
	return f
}

func (st *stage) seen(x faultproxy.Exchange) {
	write, look := st.isWrite(x.Method, x.URI, x.Body), st.isLook(x.Method, x.URI)
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case write:
		st.writes = append(st.writes, x)
	case look:
		st.looks = append(st.looks, x)
	}
}

// isLook tells the contract's look-up, of those requests that are no write, from
// listings and the like.
func (st *stage) isLook(method, uri string) bool {
	look, err := st.lookUp(st.through)
	if err != nil || look == nil || look.Method != method {
		return false
	}
	u, err := url.Parse(look.URL)
	path, _, _ := strings.Cut(uri, "?")
	return err == nil && u.EscapedPath() == path
}

// outlast waits until an effect that came as late as settle allows can be seen:
// what is counted at the end of an operation may be the first of two. Only a
// look-up would see it; the books of a bundled provider are never behind.
func (st *stage) outlast(ctx context.Context) error {
	if !st.s.probes() || st.sandbox.Count != nil || st.ended.IsZero() {
		return nil
	}
	timer := time.NewTimer(time.Until(st.ended.Add(st.s.waits.settle)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitWrite waits until n writes have arrived at the proxy.
func (st *stage) awaitWrite(ctx context.Context, n int, within time.Duration) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		st.mu.Lock()
		begun, notify := st.begun, st.notify
		st.mu.Unlock()
		if begun >= n {
			return nil
		}
		select {
		case <-notify:
		case <-timer.C:
			return fmt.Errorf("write %d did not leave within %s", n, within)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settle waits until the operation has ended and nothing is under way any more.
// An operation that does not end in time is no error here: verdict.go says so.
func (st *stage) settle(ctx context.Context, p Process) error {
	w := &st.s.waits
	_, err := st.await(ctx, p, "it ends", w.toEnd(), (*operation).ended)
	var late *tooLong
	if err != nil && !errors.As(err, &late) {
		return err
	}
	st.mu.Lock()
	st.ended = time.Now()
	st.mu.Unlock()
	if err := st.quiet(ctx); err != nil {
		return err
	}
	if late == nil && st.s.probes() { // what is open after an end is looked at once more
		_, err := st.await(ctx, p, "its attempts are settled", w.settle+w.lease+w.look+5*time.Second, func(o *operation) bool {
			return o.ended() && (o.OpenAttempts == 0 || o.State != "succeeded")
		})
		if err != nil && !errors.As(err, &late) {
			return err
		}
	}
	_, err = st.look(ctx, p)
	return err
}

// quiet waits until no request is under way to the provider.
func (st *stage) quiet(ctx context.Context) error {
	for _, p := range st.proxies {
		if err := p.Quiet(ctx); err != nil {
			return err
		}
	}
	return nil
}
