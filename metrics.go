package onceward

// Bounds of the histograms.
var (
	secondsBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	waitBuckets    = []float64{0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}
	batchBuckets   = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
)

// metrics is the one table of what is measured: the exporter, the reference page,
// the alert rules' tests and the dashboard are made from it.
var metrics = [metricsEnd]MetricInfo{
	MetricRequests: {Name: "onceward_requests_total", Kind: Counter, Unit: "requests", Labels: []string{"tool", "decision", "code"},
		Help: "Requests for operations by how they were answered; code says why one was blocked (key_reused is a key conflict). tool is empty where no contract of that name is in force."},
	MetricOperations: {Name: "onceward_operations_total", Kind: Counter, Unit: "operations", Labels: []string{"tool", "state"},
		Help: "Operations that came into a state."},
	MetricRepeated: {Name: "onceward_operations_repeated_total", Kind: Counter, Unit: "operations", Labels: []string{"tool"},
		Help: "Operations that needed a second attempt."},
	MetricAttemptsStarted: {Name: "onceward_attempts_started_total", Kind: Counter, Unit: "attempts", Labels: []string{"tool", "kind"},
		Help: "Attempts that were started: first, retry (all earlier ones are settled) or resend (an earlier one is open)."},
	MetricAttempts: {Name: "onceward_attempts_total", Kind: Counter, Unit: "attempts", Labels: []string{"tool", "outcome"},
		Help: "Attempts that were recorded: done, not_done, unknown or lease_expired."},
	MetricDispatch: {Name: "onceward_dispatch_seconds", Kind: Histogram, Unit: "seconds", Labels: []string{"tool", "outcome"}, Buckets: secondsBuckets,
		Help: "Time of one write at the provider, as its answer was judged."},
	MetricSettle: {Name: "onceward_settle_seconds", Kind: Histogram, Unit: "seconds", Labels: []string{"tool", "state"}, Buckets: waitBuckets,
		Help: "Time from an operation's creation to the state in which it ended."},
	MetricUnknownTime: {Name: "onceward_unknown_seconds", Kind: Histogram, Unit: "seconds", Labels: []string{"tool"}, Buckets: waitBuckets,
		Help: "Time for which an outcome was unknown, of those that are not any more."},
	MetricProbes: {Name: "onceward_probes_total", Kind: Counter, Unit: "probes", Labels: []string{"tool", "result"},
		Help: "Look-ups at the provider: found, absent or inconclusive."},
	MetricAlarms: {Name: "onceward_alarms_total", Kind: Counter, Unit: "alarms", Labels: []string{"tool", "reason"},
		Help: "What somebody has to know: effect_multiplied is a broken invariant and pauses the tool; the others are effect_after_cancel, review_overdue and unknown_overdue."},
	MetricUnsafeRetries: {Name: "onceward_unsafe_retries_total", Kind: Counter, Unit: "attempts", Labels: []string{"tool", "answer"},
		Help: "New attempts that were wanted although an earlier one may have had its effect: refused, or confirmed by a person and started."},
	MetricMonitor: {Name: "onceward_monitor_lookups_total", Kind: Counter, Unit: "look-ups", Labels: []string{"tool", "result"},
		Help: "Succeeded operations whose effects were counted by a look-up: one, many (the invariant is broken), absent, other (one under another reference) or inconclusive."},
	MetricBatch: {Name: "onceward_commit_batch_changes", Kind: Histogram, Unit: "changes", Buckets: batchBuckets,
		Help: "Changes that were committed together."},
	MetricStore: {Name: "onceward_store_seconds", Kind: Histogram, Unit: "seconds", Labels: []string{"call", "code"}, Buckets: secondsBuckets,
		Help: "Time of one call of the ledger's database; code is empty where it succeeded."},
	MetricLoopSteps: {Name: "onceward_loop_steps_total", Kind: Counter, Unit: "steps", Labels: []string{"loop", "result"},
		Help: "Steps of the background loops: worked, idle or failed."},
	MetricQueue: {Name: "onceward_commit_queue_changes", Kind: Gauge, Unit: "changes",
		Help: "Changes that wait for the next commit of this process."},
	MetricRunning: {Name: "onceward_attempts_running", Kind: Gauge, Unit: "attempts",
		Help: "Attempts that this process works on now."},
	MetricStuck: {Name: "onceward_stuck_operations", Kind: Gauge, Unit: "operations", Labels: []string{"tool", "source"},
		Help: "Operations that should have gone on and could not. outcome: this process knows an outcome that the ledger did not take. due: their time passed at least 10 seconds ago; while the ledger is away this is told from the last look."},
	MetricWaiting: {Name: "onceward_waiting_operations", Kind: Gauge, Unit: "operations", Labels: []string{"tool", "state", "age"},
		Help: "Operations off the happy path by state and age since creation: under_1h, under_1d, under_7d, over_7d. The ledger's count, equal on every replica."},
	MetricWaitingAge: {Name: "onceward_waiting_oldest_seconds", Kind: Gauge, Unit: "seconds", Labels: []string{"tool", "state"},
		Help: "Age of the oldest operation that waits in the state, since its creation."},
	MetricOverdue: {Name: "onceward_unknown_overdue_operations", Kind: Gauge, Unit: "operations", Labels: []string{"tool"},
		Help: "Unknown outcomes that are past their contract's recovery window, of the 500 oldest that are unknown."},
	MetricStopped: {Name: "onceward_stopped_tools", Kind: Gauge, Unit: "switches", Labels: []string{"tool", "reason"},
		Help: "Stop switches in force: auth, effect_multiplied, or person. tool is empty for one that stops every tool of a tenant or everything."},
	MetricLedgerUp: {Name: "onceward_ledger_up", Kind: Gauge, Unit: "yes or no",
		Help: "1 if the ledger answered when it was last looked at, 0 if not."},
	MetricBacklogAge: {Name: "onceward_backlog_age_seconds", Kind: Gauge, Unit: "seconds",
		Help: "Time since the ledger was last counted: how old the waiting_ and overdue_ figures are."},
	MetricBuild: {Name: "onceward_build_info", Kind: Gauge, Unit: "1", Labels: []string{"version"},
		Help: "1, with the version that runs."},
}
