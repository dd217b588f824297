package testdb

import (
	"strings"
	"testing"
)

func TestPromotedSynchronousStandbyHasWhatWasCommitted(t *testing.T) {
	t.Parallel()
	primary := Cluster(t)
	do(t, connect(t, primary.DSN()), "CREATE TABLE note (text text)")
	standby := primary.Standby(t, "")
	if err := primary.Synchronous(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, standby.DSN()).Exec(t.Context(), "INSERT INTO note VALUES ('too early')"); err == nil {
		t.Error("a standby took a write")
	}
	do(t, connect(t, primary.DSN()), "INSERT INTO note VALUES ('committed')")
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, standby.DSN())
	do(t, conn, "INSERT INTO note VALUES ('after')")
	if got := count(t, conn, "SELECT count(*) FROM note WHERE text IN ('committed', 'after')"); got != 2 {
		t.Errorf("the new primary has %d of 2 rows", got)
	}
}

func TestStandbyThatCannotFollowSaysWhy(t *testing.T) {
	t.Parallel()
	primary := Cluster(t, "max_wal_senders=0")
	_, err := primary.openStandby(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "max_wal_senders") {
		t.Errorf("a standby of a server that sends nothing = %v, want the server's own reason", err)
	}
}
