package onceward

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// everyEvent is an event of each kind.
var everyEvent = []Event{
	ApprovalGranted{}, ApprovalRejected{}, ApprovalExpired{}, ApprovalVoided{}, ApprovalEdited{}, ApprovalReminded{}, Assigned{}, ReviewTaken{}, ReviewOverdue{}, Commented{}, Forked{}, AttemptStarted{}, StartParked{}, AttemptDone{}, AttemptNotDone{},
	AttemptUnknown{}, LeaseProlonged{}, LeaseExpired{}, ProbeFound{}, ProbeAbsent{}, ProbeInconclusive{}, EffectProven{}, ResendDue{},
	ResendLapsed{}, SettleOverdue{}, CancelRequested{}, NotAfterPassed{}, Resolved{}, ReplayRequested{}, RetryRequested{}, Compensated{},
	Retired{}, KeyTakenAnew{},
}

// said is what an event's fields of these names say, and where its record has it.
var said = map[string]struct {
	value any
	in    func(r *Record) any
}{
	"Attempt":    {7, func(r *Record) any { return r.Attempt }},
	"Reference":  {"eff_7", func(r *Record) any { return r.Reference }},
	"References": {[]string{"eff_7"}, func(r *Record) any { return []string{r.Reference} }},
	"Reason":     {"seven", func(r *Record) any { return r.Reason }},
	"Why":        {ParkReason("seven"), func(r *Record) any { return ParkReason(r.Reason) }},
	"Text":       {"seven", func(r *Record) any { return r.Reason }},
	"Shown":      {"5e7e", func(r *Record) any { return r.Shown }},
	"Source":     {"seven", func(r *Record) any { return r.Reason }},
	"Failure":    {Failure{Message: "seven"}, func(r *Record) any { return Failure{Message: r.Reason} }},
}

// unsaid are fields that a record tells in another way, with the reason.
var unsaid = map[EventKind]map[string]string{
	KindResolved:       {"Attempt": "it bounds what the person knew of, and is checked, not told"},
	KindSettleOverdue:  {"Reason": "the machine's own words stand in the row, as ReviewReason"},
	KindForked:         {"Reason": "it stands behind the fork's key (Forked.said)"},
	KindAssigned:       {"Reason": "it stands behind who has to answer now (Assigned.said)"},
	KindLeaseProlonged: {"Attempt": "a quiet event has no record"},
}

// A new kind of event has to be named in the type switches of the machine and of
// the timeline: it is neither without a handler nor does its record lose what it
// says.
func TestEveryEventIsHandledAndItsRecordTellsWhatItSays(t *testing.T) {
	t.Parallel()
	left := map[EventKind]bool{}
	for _, k := range AllEventKinds() {
		left[k] = true
		if strings.HasPrefix(k.String(), "event(") {
			t.Errorf("kind %d has no name", k)
		}
	}
	for _, sample := range everyEvent {
		delete(left, sample.Kind())
		ev := reflect.New(reflect.TypeOf(sample)).Elem()
		for i := range ev.NumField() {
			if s, ok := said[ev.Type().Field(i).Name]; ok {
				ev.Field(i).Set(reflect.ValueOf(s.value))
			}
		}
		event := ev.Interface().(Event)
		if m := (&step{op: &Operation{}, at: time.Unix(1, 0)}); CodeOf(m.handle(event)) == CodeInternal {
			t.Errorf("the machine has no handler for %s", event.Kind())
		}
		r := record(StateReady, &Operation{}, fact{event: event}, 1, time.Time{})
		for i := range ev.NumField() {
			name := ev.Type().Field(i).Name
			s, ok := said[name]
			if _, not := unsaid[event.Kind()][name]; !ok || not {
				continue
			}
			if got := s.in(&r); !reflect.DeepEqual(got, s.value) {
				t.Errorf("the record of %s does not tell its %s: it has %v", event.Kind(), name, got)
			}
		}
	}
	for k := range left {
		t.Errorf("everyEvent has no %s", k)
	}
	for _, k := range []EventKind{KindApprovalRejected, KindApprovalExpired, KindNotAfterPassed, KindCancelRequested} {
		if endReasons[k] == "" {
			t.Errorf("an operation that ends unsent by %s does not say why", k)
		}
	}
}
