package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

var replicas = []situation{
	{"BeatIsSeenByEveryReplica", beatIsSeen},
	{"BeatKeepsTheStart", beatKeepsTheStart},
	{"ForgottenReplicaIsGone", forgottenReplica},
	{"StrandedAttemptsAreFound", strandedAttempts},
	{"StrandedIsBoundedByCreationAndLimit", strandedIsBounded},
}

func (f *fixture) beat(s onceward.Store, id string, low time.Time) []onceward.Replica {
	f.Helper()
	all, now, err := s.Beat(f.ctx, onceward.Replica{ID: id, LowWater: low})
	f.must(err)
	if now.Before(f.origin) {
		f.Fatalf("the clock says %v, want %v or later", now, f.origin)
	}
	slices.SortFunc(all, func(a, b onceward.Replica) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func beatIsSeen(f *fixture) {
	mine := f.beat(f.Store, "a", f.origin)
	f.equal("the replicas", 1, len(mine))
	all := f.beat(f.other, "b", f.origin.Add(step))
	f.equal("the replicas", 2, len(all))
	f.equal("the first", mine[0], all[0])
	if b := all[1]; b.ID != "b" || !b.LowWater.Equal(f.origin.Add(step)) || b.BeatAt.Before(f.origin) || !b.StartedAt.Equal(b.BeatAt) {
		f.Errorf("the second replica is %+v", b)
	}
}

func beatKeepsTheStart(f *fixture) {
	first := f.beat(f.Store, "a", time.Time{})[0]
	if !first.LowWater.IsZero() {
		f.Errorf("no low-water mark is read back as %v", first.LowWater)
	}
	f.pass(step)
	second := f.beat(f.Store, "a", f.origin)[0]
	f.equal("the start", first.StartedAt, second.StartedAt)
	if second.BeatAt.Sub(first.BeatAt) < step || !second.LowWater.Equal(f.origin) {
		f.Errorf("after %+v the second beat gives %+v", first, second)
	}
}

func forgottenReplica(f *fixture) {
	f.beat(f.Store, "a", f.origin)
	f.must(f.other.Forget(f.ctx, "a"))
	f.must(f.other.Forget(f.ctx, "a"))
	all := f.beat(f.other, "b", f.origin)
	if len(all) != 1 || all[0].ID != "b" {
		f.Errorf("the replicas are %+v, want b alone", all)
	}
}

func (f *fixture) stranded(replica string, from, to time.Time, limit int) []string {
	f.Helper()
	ops, err := f.other.Stranded(f.ctx, replica, from, to, limit)
	f.must(err)
	return keys(ops)
}

// lease sets when the running attempt's lease ends.
func lease(until time.Time) func(*onceward.Operation) {
	return func(o *onceward.Operation) { o.Attempts[len(o.Attempts)-1].LeaseUntil = until }
}

func strandedAttempts(f *fixture) {
	past := f.ago(5)
	f.store(
		insert(f.claimed("stranded", lease(past), at(f.ago(9)))),
		insert(f.claimed("elsewhere", lease(past), at(f.ago(8)), func(o *onceward.Operation) { o.Tenant = "globex" })),
		insert(f.claimed("leased", lease(f.origin.Add(time.Hour)), at(f.ago(9)))),
		insert(f.claimed("not mine", lease(past), at(f.ago(9)), func(o *onceward.Operation) { o.Attempts[0].Owner = "replica-2" })),
		insert(f.claimed("second", lease(past), at(f.ago(9)), func(o *onceward.Operation) {
			o.Attempts[0].Status = onceward.StatusOpen
			second := o.Attempts[0]
			second.Number, second.Status = 2, onceward.StatusRunning
			o.Attempts = append(o.Attempts, second)
		})),
	)
	ended := f.claimed("ended", lease(past), at(f.ago(9)))
	f.store(insert(ended))
	f.store(update(done(ended)))
	f.equal("the stranded", []string{"stranded", "elsewhere"}, f.stranded(replica, f.ago(60), f.origin, 10))
	ops, err := f.other.Stranded(f.ctx, replica, f.ago(60), f.origin, 1)
	f.must(err)
	f.equal("the operation", f.load(f.claimed("stranded").ID), ops[0])
}

func strandedIsBounded(f *fixture) {
	past := f.ago(1)
	for i, key := range []string{"a", "b", "c", "d"} {
		f.store(insert(f.claimed(key, lease(past), at(f.ago(9-i)))))
	}
	f.equal("the stranded between", []string{"b", "c"}, f.stranded(replica, f.ago(8), f.ago(7), 10))
	f.equal("the first two", []string{"a", "b"}, f.stranded(replica, f.ago(60), f.origin, 2))
	f.equal("the stranded of nobody", 0, len(f.stranded("nobody", f.ago(60), f.origin, 2)))
}
