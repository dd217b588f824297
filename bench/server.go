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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/onceward/onceward/store/sqlite"
)

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
func (p *process) rss() (float64, error) { return resident(p.cmd.Process.Pid) }

// idles is the share of a processor that the process uses while nobody asks for anything.
func (p *process) idles(ctx context.Context, d time.Duration) (float64, error) {
	before, err := p.used()
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := p.used()
	return (after - before).Seconds() / d.Seconds(), err
}

// settled is idles once what had to be caught up with after the start is over,
// such as seals of the audit trail: after a minute at the latest.
func (p *process) settled(ctx context.Context, d time.Duration) (still float64, err error) {
	for until := time.Now().Add(time.Minute); ; {
		if still, err = p.idles(ctx, d); err != nil || still < 0.05 || time.Now().After(until) {
			break
		}
	}
	if err != nil {
		return 0, err
	}
	return p.idles(ctx, d)
}

// used is the processor time of the process, to the hundredth of a second that
// the kernel counts in.
func (p *process) used() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	const user, system = 11, 12 // behind the name, which ends with the last parenthesis
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) <= system {
		return 0, errors.New("the process's times cannot be read")
	}
	var ticks int64
	for _, f := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// onBinary measures the real program over a grown ledger: how long it takes to
// be ready, and its memory under load.
func (s *suite) onBinary(ctx context.Context, binary string, rows int) error {
	db, contracts := filepath.Join(s.dir, "grown.db"), filepath.Join(s.dir, "bench.yaml")
	if err := os.WriteFile(contracts, []byte(contractYAML), 0o600); err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, db, sqlite.Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(s.grow(ctx, store, 0, rows), store.Close()); err != nil {
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
	still, err := p.settled(ctx, s.seconds)
	if err != nil {
		return errors.Join(err, p.stop())
	}
	url := p.url + "/v1/tools/bench.charge/call?wait=30s"
	if err := s.phase(ctx, fmt.Sprintf("binary over %d operations, fresh", rows), 64, overHTTP(s.provider, url, "b", 200), nil, nil); err != nil {
		return errors.Join(err, p.stop())
	}
	if err := s.phase(ctx, fmt.Sprintf("binary over %d operations, duplicate", rows), 64, s.oneOf(overHTTP(s.provider, url, "b", 200)), nil, nil); err != nil {
		return errors.Join(err, p.stop())
	}
	loaded, err := p.rss()
	if err != nil {
		return errors.Join(err, p.stop())
	}
	fmt.Printf("\nbinary over %d stored operations: ready after %s, %.0f MiB and %.2f %% of a processor idle, %.0f MiB after 64 callers\n",
		rows, p.started.Round(time.Millisecond), idle, 100*still, loaded)
	return p.stop()
}
