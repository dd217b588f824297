package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/store/postgres"
)

// openedAgain recovers a ledger as a person does: reads, and confirms the sentence.
func openedAgain(t *testing.T, db, witness string, env ...string) (plan recovery) {
	t.Helper()
	run := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), proctest.Binary(t), append([]string{"recover", "--json", "--db", db, "--witness", witness}, args...)...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("recover %v: %v: %s", args, err, out)
		}
		return out
	}
	if err := json.Unmarshal(run(), &plan); err != nil || !plan.Behind {
		t.Fatalf("the plan of the recovery is %+v, %v", plan, err)
	}
	run("--reason", "the primary died", "--confirm", plan.Sentence)
	return plan
}

// A failover to a standby that had not heard of the last attempts is found out by
// the running server's witness: nothing is written until somebody recovered, and
// what was forgotten has no second effect.
func TestFailoverThatForgetsIsFoundOutByTheWitnessAndMakesNoSecondEffect(t *testing.T) {
	t.Parallel()
	witness := filepath.Join(t.TempDir(), "witness")
	p := newPair(t, "ONCEWARD_WITNESS="+witness)
	if err := p.primary.AwaitStandbys(t.Context(), 1, "async"); err != nil {
		t.Fatal(err)
	}
	if err := p.standby.AwaitReplayed(t.Context(), p.primary); err != nil {
		t.Fatal(err)
	}
	p.between.Partition()
	for _, f := range forgettable {
		if a := p.ask(f.write); a.Operation.State != "succeeded" {
			t.Fatalf("%s: %+v", f.reference, a)
		}
	}
	p.failover()
	for _, f := range forgettable { // at once: nobody has compared yet
		if a, err := p.replica.Call(t.Context(), f.tool, f.input, 0); err == nil && a.Status != http.StatusServiceUnavailable {
			t.Errorf("%s is answered %+v by a ledger that forgot it", f.reference, a)
		}
	}
	p.refusedAsBehind()
	plan := openedAgain(t, p.standby.DSN(), witness, "SIM_URL="+p.provider.URL)
	if len(plan.Lost) != len(forgettable) {
		t.Errorf("%d attempts are told to be lost, want %d: %+v", len(plan.Lost), len(forgettable), plan.Lost)
	}
	for _, f := range forgettable { // what a person has to decide is no end by itself
		a := p.ask(f.write)
		if n := p.provider.Effects(f.reference).Count; n != 1 {
			t.Errorf("%s is answered %+v and has %d effects, want one", f.reference, a, n)
		}
	}
}

// refusedAsBehind waits until the server says that its ledger is behind, without
// asking it to write.
func (p *pair) refusedAsBehind() {
	p.Helper()
	becomes(p.T, "the server notices that its ledger is older than its dispatches", time.Minute, func() bool {
		a, err := proctest.Ask(p.Context(), "GET", p.replica.URL()+"/readyz", "")
		return err == nil && a.Code == string(onceward.CodeLedgerBehind)
	})
}

// brokenLedger is a PostgreSQL ledger whose backups were made by the commands of
// the page: what they hold, and what came after them.
type brokenLedger struct {
	*testing.T
	cluster  *testdb.Server
	provider *proctest.Provider
	dir      string // base and archive
	witness  string // as it was when the ledger was lost
	dump     string // the database that the dump was restored into
	until    string // an instant after "between" and before "lost"
}

// run runs a block of the page as a person does.
func (b *brokenLedger) run(commands string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "bash", "-eu", "-c", commands)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "LEDGER="+b.cluster.DSN(), "CLUSTER="+b.cluster.DSN(), "NEW="+b.dump, "ARCHIVE="+filepath.Join(b.dir, "archive"),
		"UNTIL="+b.until, "PATH="+testdb.Folder(b)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s\n%v: %s", commands, err, out)
	}
}

// served starts a replica on a database, with a witness.
func (b *brokenLedger) served(dsn, witness string) *proctest.Server {
	b.Helper()
	s := simServer(b, dsn, b.provider, "ONCEWARD_WITNESS="+witness)
	s.Start("")
	return s
}

func (b *brokenLedger) call(s *proctest.Server, event string) proctest.Answer {
	b.Helper()
	a, err := s.Call(b.Context(), "tickets.create", `{"source":"b","event_id":"`+event+`","subject":"s"}`, 30*time.Second)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// newBrokenLedger makes a ticket before the backups, one between these and the
// instant, and one after it; then the server dies.
func newBrokenLedger(t *testing.T) *brokenLedger {
	t.Helper()
	proctest.Binary(t)
	dir, err := os.MkdirTemp("", "onceward-backup-") // why not the test's: its parent is closed to the database's account
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	archive := filepath.Join(dir, "archive")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(archive, 0o777), os.Chmod(archive, 0o777)); err != nil {
		t.Fatal(err)
	}
	b := &brokenLedger{T: t, dir: dir, witness: filepath.Join(t.TempDir(), "witness"), provider: proctest.NewProvider(t),
		cluster: testdb.Cluster(t, "archive_mode=on", "archive_command=cp %p "+archive+"/%f")}
	b.dump = b.cluster.Database(t, "restored")
	s := b.served(b.cluster.DSN(), b.witness)
	b.call(s, "kept")
	for _, commands := range commandsOf(t, "../../docs/operating/backup.md", "pg_") {
		b.run(commands)
	}
	b.call(s, "between")
	b.until = answerOf(t, b.cluster.DSN(), "select clock_timestamp()::text")
	b.call(s, "lost")
	s.Kill()
	last := answerOf(t, b.cluster.DSN(), "select pg_walfile_name(pg_switch_wal())")
	becomes(t, "the log is archived", time.Minute, func() bool {
		return answerOf(t, b.cluster.DSN(), "select coalesce(last_archived_wal, '') from pg_stat_archiver") >= last
	})
	return b
}

// comeBack opens a restored ledger with care, and asks for all three tickets.
func (b *brokenLedger) comeBack(dsn string, lost ...string) {
	b.Helper()
	seen, err := os.ReadFile(b.witness)
	if err != nil {
		b.Fatal(err)
	}
	witness := filepath.Join(b.TempDir(), "witness")
	if err := os.WriteFile(witness, seen, 0o600); err != nil {
		b.Fatal(err)
	}
	s, err := postgres.Open(b.Context(), dsn, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	v, err := onceward.VerifyAudit(b.Context(), s, nil)
	if err != nil || len(v.Faults) > 0 || v.Operations != 3-len(lost) {
		b.Errorf("the restored trail: %+v, %v", v, err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	if plan := openedAgain(b.T, dsn, witness, "SIM_URL="+b.provider.URL); len(plan.Lost) != len(lost) {
		b.Errorf("%d attempts are told to be lost, want %v", len(plan.Lost), lost)
	}
	second := b.served(dsn, witness)
	for _, event := range []string{"kept", "between", "lost"} {
		a := b.call(second, event)
		if forgotten := slices.Contains(lost, event); forgotten == (a.Decision == "replayed") {
			b.Errorf("%s is answered %s, forgotten: %t", event, a.Decision, forgotten)
		}
		if n := b.provider.Effects("b/" + event).Count; a.Operation.State != "succeeded" || n != 1 {
			b.Errorf("%s is answered %+v and has %d effects", event, a, n)
		}
	}
	second.Kill()
}

// The commands of the page bring a PostgreSQL ledger back, as they stand there:
// out of a dump, and out of a base backup with an archive of the log, to an instant.
// What came after is found out by the witness and has no second effect.
func TestCommandsOfTheBackupPageBringAPostgresLedgerBack(t *testing.T) {
	t.Parallel()
	b := newBrokenLedger(t)
	b.comeBack(b.dump, "between", "lost")
	for _, commands := range commandsOf(t, "../../docs/operating/backup.md", "cat >> base/") {
		b.run(commands)
	}
	b.comeBack(b.cluster.ServeCopy(t, filepath.Join(b.dir, "base")).DSN(), "lost")
}

// answerOf is the answer to a question of one value.
func answerOf(t *testing.T, dsn, question string) (answer string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if err := conn.QueryRow(t.Context(), question).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return answer
}

// commandsOf are the blocks of commands of a page that begin so.
func commandsOf(t *testing.T, page, begin string) (blocks []string) {
	t.Helper()
	for _, b := range readBlocks(t, page) {
		if b.lang == "sh" && strings.HasPrefix(b.text, begin) {
			blocks = append(blocks, b.text)
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no commands", page)
	}
	return blocks
}
