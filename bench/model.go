package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	ledger "github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/postgres"
)

// model is what an operation costs on PostgreSQL, as few constants that a store alone
// and one busy sample show (docs/operating/capacity.md). From them it says what many
// callers reach and what a stored operation takes.
type model struct {
	cores    float64 // that the busy sample got, which callers, provider, ledger and database share
	commit   float64 // seconds that a commit takes, however many changes are in it
	change   float64 // seconds more for each change
	commitUs float64 // processor time of a commit, µs, database included
	opUs     float64 // processor time of an operation besides its commits, µs
	commitB  float64 // write-ahead log of a commit, bytes
	opB      float64 // of an operation besides its commits
	rowB     float64 // table and indexes of an operation without the kept result's body
	resultB  float64 // for each byte of that body, in the row
	sideB    float64 // and for each byte of one that is kept beside it
}

// sample is what a phase showed, for an operation.
type sample struct {
	rate    float64 // operations a second
	commits float64 // commits an operation
	cpuUs   float64 // processor time, database included
	walB    float64
}

// modelOf takes the constants from three samples: a store alone in batches of one
// and of n operations, and as many callers of the library as keep the machine busy.
//
// Why a busy sample: one caller alone wakes and waits, and takes two to three times
// the processor for an operation.
func modelOf(n float64, alone, batched, busy sample) model {
	m := model{cores: busy.rate * busy.cpuUs / 1e6}
	// A batch of n operations has 2n changes.
	m.change = (n/batched.rate - 1/(2*alone.rate)) / (2*n - 1)
	m.commit = 1/(2*alone.rate) - m.change
	m.commitUs = (alone.cpuUs - batched.cpuUs) / (alone.commits - batched.commits)
	m.opUs = busy.cpuUs - busy.commits*m.commitUs
	m.commitB = (alone.walB - batched.walB) / (alone.commits - batched.commits)
	m.opB = busy.walB - busy.commits*m.commitB
	return m
}

// commits is how many commits an operation of so many callers takes: while the
// changes of one half of them are committed, those of the other half gather.
func (m model) commits(callers float64) float64 { return min(4/callers, 2) }

// rate is how many operations a second so many callers reach: as many as the
// processors let through, or as the one connection commits in such batches.
func (m model) rate(callers float64) float64 {
	batch := 2 / m.commits(callers)
	committed := batch / (2 * (m.commit + batch*m.change))
	return min(committed, m.cores*1e6/(m.opUs+m.commits(callers)*m.commitUs))
}

// walB is the write-ahead log of an operation of so many callers, bytes.
func (m model) walB(callers float64) float64 { return m.opB + m.commits(callers)*m.commitB }

// rowBytes is what an operation takes that keeps a result of that size.
func (m model) rowBytes(result float64) float64 {
	if result > ledger.PartInlineBytes {
		return m.rowB + m.sideB*result
	}
	return m.rowB + m.resultB*result
}

// busyCallers is how many callers for each processor keep a machine busy, though each
// waits for its commits most of the time.
const busyCallers = 64

// aloneBatch is the batch that the constants are taken from, in operations.
const aloneBatch = 100

// modelled measures the constants on PostgreSQL, prints what the model says and
// then what is measured, with the difference.
func (s *suite) modelled(ctx context.Context, dsn string) error {
	schema, wal, drop, err := benchSchema(ctx, dsn)
	if err != nil {
		return err
	}
	defer drop()
	store, err := postgres.Open(ctx, schema, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	g, err := newGuarded(ctx, store, s.provider, s.tools)
	if err != nil {
		return err
	}
	defer g.stop()
	database, err := serverOf(ctx, schema)
	if err != nil {
		return err
	}
	asked := func(callers int) (sample, error) {
		w := g.submit(plainTool, fmt.Sprintf("model%d-", callers), onceward.DecisionFresh)
		return s.sample(ctx, fmt.Sprintf("library, %d callers", callers), callers, 1, w, g.store.commits.Load, wal, database)
	}
	alone, err := s.sampleAlone(ctx, store, 1, wal, database)
	if err != nil {
		return err
	}
	batched, err := s.sampleAlone(ctx, store, aloneBatch, wal, database)
	if err != nil {
		return err
	}
	callers := busyCallers * runtime.NumCPU()
	busy, err := asked(callers)
	if err != nil {
		return err
	}
	m := modelOf(aloneBatch, alone, batched, busy)
	sizes, err := s.stored(ctx, dsn, &m)
	if err != nil {
		return err
	}
	fmt.Printf("\n| constant | |\n| --- | --- |\n| a commit | %.2f ms, %.0f µs of processor, %.0f B of log |\n| a change more in it | %.3f ms |\n"+
		"| an operation besides | %.0f µs of processor, %.0f B of log |\n| a stored operation | %.0f B, and %.2f B for each byte of its result, %.2f B above %d |\n| processors that %d callers got | %.2f |\n\n",
		m.commit*1e3, m.commitUs, m.commitB, m.change*1e3, m.opUs, m.opB, m.rowB, m.resultB, m.sideB, ledger.PartInlineBytes, callers, m.cores)
	fmt.Println("| what | model | measured | error |\n| --- | --- | --- | --- |")
	for _, callers := range []int{callers / 32, callers / 8, callers / 2, callers * 2} {
		got, err := asked(callers)
		if err != nil {
			return err
		}
		n := float64(callers)
		compare(fmt.Sprintf("%d callers, operations/s", callers), m.rate(n), got.rate)
		compare(fmt.Sprintf("%d callers, commits/operation", callers), m.commits(n), got.commits)
		compare(fmt.Sprintf("%d callers, log B/operation", callers), m.walB(n), got.walB)
	}
	for _, r := range sizes {
		compare(fmt.Sprintf("stored with a result of %d B, B/operation", r.result), m.rowBytes(float64(r.result)), r.bytes)
	}
	return nil
}

func compare(what string, model, measured float64) {
	digits := 0
	if measured < 10 {
		digits = 3
	}
	fmt.Printf("| %s | %.*f | %.*f | %+.0f %% |\n", what, digits, model, digits, measured, (model/measured-1)*100)
}

// sampleAlone is sample for a store that is written to in batches of so many
// operations.
func (s *suite) sampleAlone(ctx context.Context, store onceward.Store, size int, wal func() int64, database processes) (sample, error) {
	counted := &counting{Store: store}
	return s.sample(ctx, fmt.Sprintf("ledger alone, batches of %d", size), 1, int64(size), s.aloneWork(counted, size, "model-"), counted.commits.Load, wal, database)
}

// sample runs a phase whose work does so many operations each, and takes what it
// showed, the database's processor time too.
func (s *suite) sample(
	ctx context.Context, name string, callers int, each int64, w work, committed, wal func() int64, database processes,
) (sample, error) {
	commits, log, cpu := committed(), wal(), database.cpu()
	m := run(ctx, name, callers, s.seconds, w)
	if m.err != nil {
		return sample{}, fmt.Errorf("%s: %w", name, m.err)
	}
	m.scale(each)
	n := float64(m.ops)
	return sample{rate: m.rate, commits: float64(committed()-commits) / n,
		cpuUs: m.cpu.Seconds()*1e6 + (database.cpu()-cpu).Seconds()*1e6/n, walB: float64(wal()-log) / n}, nil
}

// processes are a server and what it started, by the server's process ID.
type processes int

// serverOf finds the server of a PostgreSQL on this machine.
func serverOf(ctx context.Context, dsn string) (processes, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var session int
	if err := conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&session); err != nil {
		return 0, err
	}
	parent, _, err := statOf(fmt.Sprintf("/proc/%d/stat", session))
	if err != nil {
		return 0, fmt.Errorf("find the database's processes (it has to be on this machine, and that Linux): %w", err)
	}
	return parent, nil
}

// cpu is the processor time of the processes, and of those that have ended.
func (p processes) cpu() (total time.Duration) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	own := fmt.Sprintf("/proc/%d/stat", p)
	for _, file := range stats {
		if parent, used, err := statOf(file); err == nil && (parent == p || file == own) {
			total += used
		}
	}
	return total
}

// statOf reads a process's parent and its processor time, with that of its ended
// children.
func statOf(file string) (parent processes, used time.Duration, err error) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 wherever Go runs on Linux
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return 0, 0, fmt.Errorf("%s is cut", file)
	}
	id, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0, 0, err
	}
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, 0, err
		}
		used += time.Duration(n) * tick
	}
	return processes(id), used, nil
}

// row is what an operation takes on the disk that keeps a result of a size.
type row struct {
	result int
	bytes  float64
}

// resultSizes are the sizes of kept results that are stored: the first, the third
// and the fourth make the constants, the others are what the model is compared with.
var resultSizes = []int{100, 500, 1500, 10_000, 30_000}

// storedEach is how many operations of each size are stored.
const storedEach = 2000

// stored stores operations with results of each size, which do not compress, as a
// claim and its outcome, and asks what tables and indexes take.
func (s *suite) stored(ctx context.Context, dsn string, m *model) (sizes []row, err error) {
	for _, size := range resultSizes {
		bytes, err := s.storedOf(ctx, dsn, size)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, row{size, bytes})
	}
	m.resultB = (sizes[2].bytes - sizes[0].bytes) / float64(sizes[2].result-sizes[0].result)
	m.rowB = sizes[0].bytes - m.resultB*float64(sizes[0].result)
	m.sideB = (sizes[3].bytes - m.rowB) / float64(sizes[3].result)
	return sizes, nil
}

func (s *suite) storedOf(ctx context.Context, dsn string, size int) (bytes float64, err error) {
	schema, _, drop, err := benchSchema(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer drop()
	store, err := postgres.Open(ctx, schema, postgres.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	info := s.tools[0].Info()
	for from := 0; from < storedEach; from += aloneBatch {
		var claims, outcomes []onceward.Change
		for i := range aloneBatch {
			op := claimed(fmt.Sprintf("stored-%d", from+i), time.Now(), info)
			claims = append(claims, onceward.Change{After: op})
			op = ended(op)
			op.Result.Body = make([]byte, size)
			_, _ = rand.Read(op.Result.Body) // it never fails
			outcomes = append(outcomes, onceward.Change{Before: 1, After: op})
		}
		if err := errors.Join(committed(ctx, store, claims), committed(ctx, store, outcomes)); err != nil {
			return 0, err
		}
	}
	conn, err := pgx.Connect(ctx, schema)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, `select sum(pg_total_relation_size(c.oid))::float8 / $1 from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'`, storedEach).Scan(&bytes)
	return bytes, err
}
