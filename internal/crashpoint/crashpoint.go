package crashpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// Variable names a point at which the process dies, with an optional count:
// "record.before_commit" dies at the first passing, "record.before_commit:3" at
// the third.
const Variable = "ONCEWARD_CRASH_POINT"

// All lists the points, in the order in which an attempt passes them.
var All = []string{
	"claim.before_commit", "claim.after_commit", "dispatch.before_send", "dispatch.after_send", "dispatch.after_response",
	"record.before_commit", "record.after_commit", "probe.before_send", "probe.after_response", "probe.before_commit", "approve.before_commit", "remind.before_commit",
	"bulk.after_choice", "bulk.before_commit",
	"saga.before_step", "saga.after_step", "saga.before_undo", "saga.after_undo", "saga.before_commit",
	"inbox.before_record", "inbox.after_record", "inbox.before_handle", "inbox.between_effects", "inbox.before_settle",
	"relay.after_publish",
	"export.after_sync",
}

// FromEnv returns the function to call at each point; nil when the environment
// names none.
func FromEnv() func(name string) {
	point, count, counted := strings.Cut(os.Getenv(Variable), ":")
	if point == "" {
		return nil
	}
	at := int64(1)
	if n, err := strconv.ParseInt(count, 10, 64); counted && err == nil {
		at = n
	}
	var passed atomic.Int64
	return func(name string) {
		if name == point && passed.Add(1) == at {
			die()
		}
	}
}

// die ends the process as a power cut would: no deferred call runs, nothing is
// flushed.
func die() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		_ = p.Kill() // SIGKILL
	}
	select {} // the signal is on its way; no statement after the point may run
}
