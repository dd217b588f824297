package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testdb"
)

// outageKeys is how many keys of each tool are written through an outage of the
// database.
const outageKeys = 16

// The database dies as a whole, again and again, with everything that it was
// about to do. Nothing is done to the replicas: they go on by themselves.
func TestPostgresKilledAndStartedUnderLoadLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	server := testdb.Cluster(t)
	s := newStorm(t, func(int) string { return server.DSN() }, 3)
	s.keys = outageKeys
	s.run(4, func(t *testing.T, r *rand.Rand, _ *proctest.Server) error {
		if err := server.Kill(); err != nil {
			return err
		}
		pause(t, time.Duration(r.IntN(1500))*time.Millisecond)
		if err := server.Start(t.Context()); err != nil {
			return err
		}
		pause(t, time.Duration(500+r.IntN(500))*time.Millisecond)
		return nil
	})
}

// The primary dies for good and its synchronous standby takes its place at the
// address that the replicas know: all that was acknowledged is there.
func TestSynchronousStandbyPromotedUnderLoadLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	primary := testdb.Cluster(t)
	proxy, dsn := proxied(t, primary.DSN())
	s := newStorm(t, func(int) string { return dsn }, 3)
	s.keys = outageKeys
	standby := primary.Standby(t, "")
	synchronous(t, primary)
	promoted := false
	s.run(3, func(t *testing.T, r *rand.Rand, _ *proctest.Server) error {
		pause(t, time.Second) // load before, between and after
		if promoted {
			return nil
		}
		promoted = true
		if err := primary.Kill(); err != nil {
			return err
		}
		pause(t, time.Duration(r.IntN(1000))*time.Millisecond)
		if err := standby.Promote(t.Context()); err != nil {
			return err
		}
		proxy.Redirect(standby.Addr())
		proxy.ResetAll()
		return nil
	})
}
