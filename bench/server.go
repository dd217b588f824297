package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/sqlite"
)

// grown fills a ledger with succeeded operations, as group commit writes them.
func grown(ctx context.Context, path string, rows int, tool onceward.Tool) error {
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	info := tool.Info()
	if err := store.Activate(ctx, onceward.ContractVersion{Tool: info.Name, Version: info.Version, Source: info.Source}, true); err != nil {
		return errors.Join(err, store.Close())
	}
	const batch = 1000
	began := time.Now().Add(-time.Duration(rows) * time.Millisecond)
	for n := 0; n < rows; n += batch {
		changes := make([]onceward.Change, 0, batch)
		for i := range batch {
			changes = append(changes, onceward.Change{After: stored(n+i, began.Add(time.Duration(n+i)*time.Millisecond), info)})
		}
		if _, err := store.Commit(ctx, changes); err != nil {
			return errors.Join(err, store.Close())
		}
	}
	return store.Close()
}

// stored is one operation as it stands after an undisturbed call.
func stored(n int, at time.Time, info *onceward.ToolInfo) onceward.Operation {
	key := onceward.Key(fmt.Sprintf("grown-%d", n))
	at = at.UTC().Truncate(time.Microsecond)
	op := onceward.Operation{
		ID: onceward.NewOperationID(onceward.DefaultTenant, info.Name, key), Tenant: onceward.DefaultTenant, Tool: info.Name, Key: key,
		Digest: onceward.MaterialDigest(info.Name, input), Contract: info.Version, Effect: info.Policy.Effect, State: onceward.StateSucceeded, Version: 1,
		Actor: "local:operator", CreatedAt: at, UpdatedAt: at, CompletedAt: at, IntentAt: at, Reference: fmt.Sprintf("ch_%016d", n), Input: input,
		Attempts: []onceward.Attempt{{Number: 1, Owner: "r_bench", Status: onceward.StatusDone, Settler: onceward.SettledByAnswer, StartedAt: at, LeaseUntil: at.Add(25 * time.Second), EndedAt: at, LastByteAt: at, Reach: onceward.ReachFirstByte}},
		Result:   &onceward.Result{Status: 201, Body: []byte(`{"id":"ch_1","ok":true}`), BodyKept: true},
	}
	copy(op.Token[:], op.ID[:])
	return op
}

// process is the real binary, serving.
type process struct {
	cmd     *exec.Cmd
	url     string
	started time.Duration // until it was ready
}

func startProcess(ctx context.Context, binary, db, contracts, target string) (*process, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	listen := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	p := &process{url: "http://" + listen}
	p.cmd = exec.CommandContext(ctx, binary, "serve", "--db", "sqlite:"+db, "--contracts", contracts, "--listen", listen, "--log-level", "error")
	p.cmd.Env = append(os.Environ(), "TARGET="+target)
	p.cmd.Stderr = os.Stderr
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for time.Since(began) < time.Minute {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil)
		if err != nil {
			return nil, err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				p.started = time.Since(began)
				return p, nil
			}
		}
		<-time.After(time.Millisecond)
	}
	return nil, errors.Join(errors.New("the server is not ready after a minute"), p.stop())
}

func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.cmd.Wait()
}

// rss is the process's resident memory in MiB.
func (p *process) rss() (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var size, resident float64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0, err
	}
	return resident * float64(os.Getpagesize()) / (1 << 20), nil
}

// onBinary measures the real program over a grown ledger: how long it takes to
// be ready, and its memory under load.
func (s *suite) onBinary(ctx context.Context, binary string, rows int) error {
	db, contracts := filepath.Join(s.dir, "grown.db"), filepath.Join(s.dir, "bench.yaml")
	if err := os.WriteFile(contracts, []byte(contractYAML), 0o600); err != nil {
		return err
	}
	if err := grown(ctx, db, rows, s.tool); err != nil {
		return fmt.Errorf("fill the ledger: %w", err)
	}
	p, err := startProcess(ctx, binary, db, contracts, s.target)
	if err != nil {
		return err
	}
	idle, err := p.rss()
	if err != nil {
		return errors.Join(err, p.stop())
	}
	url := p.url + "/v1/tools/bench.charge/call?wait=30s"
	if err := s.phase(ctx, fmt.Sprintf("binary over %d operations, fresh", rows), 64, overHTTP(url, "b", 200), nil, nil); err != nil {
		return errors.Join(err, p.stop())
	}
	if err := s.phase(ctx, fmt.Sprintf("binary over %d operations, duplicate", rows), 64, s.oneOf(overHTTP(url, "b", 200)), nil, nil); err != nil {
		return errors.Join(err, p.stop())
	}
	loaded, err := p.rss()
	if err != nil {
		return errors.Join(err, p.stop())
	}
	fmt.Printf("\nbinary over %d stored operations: ready after %s, %.0f MiB idle, %.0f MiB after 64 callers\n", rows, p.started.Round(time.Millisecond), idle, loaded)
	return p.stop()
}
