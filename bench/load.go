package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// work does one operation. n is unique in a phase.
type work func(ctx context.Context, n int64) error

// measured is one phase.
type measured struct {
	name     string
	callers  int
	ops      int64
	rate     float64 // operations a second
	p50, p99 time.Duration
	cpu      time.Duration // of the process, per operation
	err      error
}

// samplesMax bounds how many latencies a caller keeps.
const samplesMax = 1 << 20

// run lets callers work side by side for a time.
func run(ctx context.Context, name string, callers int, d time.Duration, w work) measured {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	lat := make([][]time.Duration, callers)
	cpu, began := processCPU(), time.Now()
	until := began.Add(d)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for {
				start := time.Now()
				if start.After(until) || failed.Load() != nil {
					return
				}
				if err := w(ctx, next.Add(1)); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				if len(lat[i]) < samplesMax {
					lat[i] = append(lat[i], time.Since(start))
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	all := slices.Concat(lat...)
	m := measured{name: name, callers: callers, ops: int64(len(all))}
	if e := failed.Load(); e != nil {
		m.err = *e
		return m
	}
	if len(all) == 0 {
		m.err = fmt.Errorf("nothing was done in %s", d)
		return m
	}
	slices.Sort(all)
	m.rate = float64(len(all)) / took.Seconds()
	m.p50, m.p99 = all[len(all)/2], all[len(all)*99/100]
	m.cpu = (processCPU() - cpu) / time.Duration(len(all))
	return m
}

// scale counts each call of the work as so many operations.
func (m *measured) scale(n int64) {
	m.ops *= n
	m.rate *= float64(n)
	m.cpu /= time.Duration(n)
}

// processCPU is the processor time that this process has used.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
