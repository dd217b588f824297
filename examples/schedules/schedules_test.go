// Package schedules_test runs the example of a schedule: the key is of the period.
package schedules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the zones, wherever it runs

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/memory"
)

// period is the month before a schedule's nominal time, in the calendar of the
// business. The nominal time is the one that the schedule names, and not the one at
// which it fired.
func period(nominal time.Time, zone *time.Location) string {
	at := nominal.In(zone)
	return time.Date(at.Year(), at.Month()-1, 1, 12, 0, 0, 0, zone).Format("2006-01")
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// press is the provider: the reports that it sent.
type press struct {
	mu   sync.Mutex
	sent []string
}

func (p *press) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var in struct{ Customer, Period string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.sent = append(p.sent, in.Customer+" "+in.Period)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":"r-%d"}`, len(p.sent))
}

// The schedule fires twice for May, once more three days late, and a catch-up run
// asks for all of the last months; then June's comes.
func TestEachMonthsReportIsSentOnceHoweverOftenTheScheduleFires(t *testing.T) {
	t.Parallel()
	p := &press{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	ledger := open(t, server.URL)
	berlin := zone(t, "Europe/Berlin")
	fire := func(nominal time.Time, late time.Duration) {
		in := fmt.Appendf(nil, `{"customer":"acme","period":"%s","triggered_at":"%s"}`, period(nominal, berlin), nominal.Add(late).Format(time.RFC3339))
		a, err := ledger.Submit(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "reports.monthly", Input: in, Wait: 10 * time.Second})
		if err != nil || a.Operation.State != onceward.StateSucceeded {
			t.Fatalf("the report of %s is %+v, %v", period(nominal, berlin), a, err)
		}
	}
	june := time.Date(2026, time.June, 1, 0, 30, 0, 0, berlin) // about May; in UTC it is still May
	fire(june, 0)
	fire(june, 2*time.Second)
	fire(june, 72*time.Hour)
	for month := time.April; month <= time.June; month++ { // the catch-up run
		fire(time.Date(2026, month, 1, 0, 30, 0, 0, berlin), 0)
	}
	fire(june.AddDate(0, 1, 0), 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.sent)
	if want := []string{"acme 2026-03", "acme 2026-04", "acme 2026-05", "acme 2026-06"}; !slices.Equal(p.sent, want) {
		t.Errorf("sent were %v, want %v", p.sent, want)
	}
}

// An hour that a change of the clocks repeats, or leaves out, is in one period,
// and a day has one name, where the period is taken from the calendar of the business.
func TestPeriodIsOneThroughChangesOfTheClock(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	repeated := time.Date(2026, time.October, 25, 0, 30, 0, 0, time.UTC) // 02:30 summer time
	for _, at := range []time.Time{repeated, repeated.Add(time.Hour)} {  // 02:30 once more
		if got := at.In(berlin).Format("2006-01-02T15:04"); got != "2026-10-25T02:30" {
			t.Fatalf("%s is %s", at, got)
		}
		if got := at.In(berlin).Format(time.DateOnly); got != "2026-10-25" {
			t.Errorf("the day is %s", got)
		}
	}
	if got := period(time.Date(2026, time.May, 31, 22, 30, 0, 0, time.UTC), berlin); got != "2026-05" { // 00:30 on June 1 there
		t.Errorf("the period is %s", got)
	}
	if got := period(time.Date(2026, time.March, 31, 9, 0, 0, 0, berlin), berlin); got != "2026-02" { // no 31st of February in between
		t.Errorf("the period is %s", got)
	}
}

func open(t *testing.T, url string) *onceward.Ledger {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	set, err := contract.LoadDir([]string{"."}, contract.Options{Env: func(name string) (string, bool) { return url, name == "REPORTS_URL" }})
	must(err)
	tool, ok := set.Tool("reports.monthly")
	if !ok {
		t.Fatal("there is no contract")
	}
	store := memory.New(memory.Options{})
	registry := onceward.NewRegistry(store, nil)
	must(registry.Activate(t.Context(), []onceward.Tool{tool}, false))
	client := httpcall.New(httpcall.Options{})
	ledger, err := onceward.New(onceward.Options{Store: store, Tools: registry, Provider: client})
	must(err)
	must(ledger.Start(t.Context()))
	t.Cleanup(func() {
		must(ledger.Close(context.Background()))
		client.Close()
	})
	return ledger
}
