package onceward

import "time"

// MayReadMetrics refuses, with CodeForbidden, whoever may not see the metrics.
// They are of the whole server, so they are for whoever runs it: operators and
// auditors of [DefaultTenant].
func MayReadMetrics(p Principal) error {
	if err := Authorize(p, ActionReadMetrics); err != nil {
		return err
	}
	if p.Tenant != DefaultTenant {
		return &Error{Code: CodeForbidden, Op: "read metrics", Message: "the server's metrics count other tenants too", Hint: "ask with credentials of the server's own tenant, or read your report: GET /v1/report"}
	}
	return p.permitsAll()
}

// measure tells the meter what a committed change says. before is the row that
// the facts were told of.
func (l *Ledger) measure(before, after *Operation, fs []fact) {
	m, tool := l.meter, string(after.Tool)
	for i := range fs {
		switch e := fs[i].event.(type) {
		case AttemptStarted:
			l.measureStart(before, after)
		case AttemptDone:
			m.Add(MetricAttempts, 1, Labels{tool, "done"})
		case AttemptNotDone:
			m.Add(MetricAttempts, 1, Labels{tool, "not_done"})
		case AttemptUnknown:
			m.Add(MetricAttempts, 1, Labels{tool, "unknown"})
		case LeaseExpired:
			m.Add(MetricAttempts, 1, Labels{tool, "lease_expired"})
		case ProbeFound:
			m.Add(MetricProbes, 1, Labels{tool, "found"})
		case ProbeAbsent:
			m.Add(MetricProbes, 1, Labels{tool, "absent"})
		case ProbeInconclusive:
			m.Add(MetricProbes, 1, Labels{tool, "inconclusive"})
		case KeyTakenAnew:
			before = &e.Next // another use of the key
		}
	}
	if before.State != after.State || before.Version == 0 {
		m.Add(MetricOperations, 1, Labels{tool, after.State.String()})
	}
	if before.CompletedAt.IsZero() && !after.CompletedAt.IsZero() {
		m.Record(MetricSettle, after.CompletedAt.Sub(after.CreatedAt).Seconds(), Labels{tool, after.State.String()})
		l.countEnd(after)
	}
	if before.State == StateOutcomeUnknown && after.State != StateOutcomeUnknown && !before.UnknownSince.IsZero() {
		m.Record(MetricUnknownTime, after.UpdatedAt.Sub(before.UnknownSince).Seconds(), Labels{tool})
	}
}

func (l *Ledger) measureStart(before, after *Operation) {
	tool, kind := string(after.Tool), "first"
	a := &after.Attempts[len(after.Attempts)-1]
	switch {
	case a.Resend:
		kind = "resend"
	case a.Number > 1:
		kind = "retry"
	}
	l.meter.Add(MetricAttemptsStarted, 1, Labels{tool, kind})
	if a.Number == 2 {
		l.meter.Add(MetricRepeated, 1, Labels{tool})
	}
	if unsafeStart(before, after) {
		l.meter.Add(MetricUnsafeRetries, 1, Labels{tool, "confirmed"})
	}
}

// measureAnswer counts how a request was answered. tool is empty for one that is
// not known.
func (l *Ledger) measureAnswer(tool ToolName, d Decision, err error) {
	l.meter.Add(MetricRequests, 1, Labels{string(tool), string(d), string(CodeOf(err))})
}

// measureDispatch takes the time of one write.
func (l *Ledger) measureDispatch(op *Operation, ev *Evidence, v Verdict) {
	l.meter.Record(MetricDispatch, ev.EndedAt.Sub(ev.StartedAt).Seconds(), Labels{string(op.Tool), v.String()})
}

// measureRefused counts a replay that would have been unsafe and was refused.
func (l *Ledger) measureRefused(op *Operation, at time.Time) {
	if op.OpenAttempts() > 0 && !op.resendAllowed(at) {
		l.meter.Add(MetricUnsafeRetries, 1, Labels{string(op.Tool), "refused"})
	}
}

// measureAlarm counts an alarm. Why not the reason as it is: it may name a time.
func (l *Ledger) measureAlarm(op *Operation, reason string) {
	switch reason {
	case "effect_multiplied", "effect_after_cancel":
	default:
		reason = "review_overdue"
	}
	l.meter.Add(MetricAlarms, 1, Labels{string(op.Tool), reason})
}

// samples counts the switches that stand.
func (s *switches) samples() []Sample {
	s.mu.RLock()
	defer s.mu.RUnlock()
	counts := map[Labels]float64{}
	for k, sw := range s.paused {
		why := sw.Reason
		if why != "auth" && why != "effect_multiplied" {
			why = "person"
		}
		counts[Labels{string(k.tool), why}]++
	}
	out := make([]Sample, 0, len(counts))
	for labels, n := range counts {
		out = append(out, Sample{labels, n})
	}
	return out
}

// stuck counts the outcomes that this process knows and could not record.
func (a *liveAttempts) stuck() []Sample {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := map[ToolName]float64{}
	for _, tool := range a.stalled {
		counts[tool]++
	}
	for _, lost := range a.lost {
		counts[lost.tool]++
	}
	out := make([]Sample, 0, len(counts))
	for tool, n := range counts {
		out = append(out, Sample{Labels{string(tool), "outcome"}, n})
	}
	return out
}
