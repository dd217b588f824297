package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/testdb"
)

// scraped is what a server's /metrics say: values by name with labels.
type scraped map[string]float64

func scrape(t *testing.T, server string) scraped {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the scrape is answered %d", res.StatusCode)
	}
	got := scraped{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, found := strings.Cut(lines.Text(), "} ")
		if !found {
			name, value, _ = strings.Cut(lines.Text(), " ")
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil && !strings.HasPrefix(name, "#") {
			got[strings.TrimSuffix(name, "}")] = v
		}
	}
	return got
}

// sum adds the series of a metric that have all of these labels.
func (s scraped) sum(metric string, labels ...string) (total float64) {
series:
	for name, v := range s {
		if name != metric && !strings.HasPrefix(name, metric+"{") {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(name, l) {
				continue series
			}
		}
		total += v
	}
	return total
}

// awaitMetric scrapes until what is wanted is seen.
func awaitMetric(t *testing.T, server, what string, want func(scraped) bool) {
	t.Helper()
	var last scraped
	for until := time.Now().Add(60 * time.Second); time.Now().Before(until); pause(t, 200*time.Millisecond) {
		if last = scrape(t, server); want(last) {
			return
		}
	}
	t.Fatalf("never seen: %s; stuck %v, waiting %v, up %v", what, last.sum("onceward_stuck_operations"), last.sum("onceward_waiting_operations"), last.sum("onceward_ledger_up"))
}

// The database goes away while outcomes are unknown: what is stuck is told by a
// server that can ask nobody, and once the database is back everything goes on.
func TestStuckCountRisesWhileTheDatabaseIsAwayDuringRecovery(t *testing.T) {
	t.Parallel()
	database, provider := testdb.Cluster(t), proctest.NewProvider(t)
	contract := contractFile(t, strings.Replace(hastyTicket, "settle: 500ms", "settle: 15s", 1))
	metrics := proctest.FreeAddress(t)
	s := proctest.NewServer(t, database.DSN(), []string{contract}, "ONCEWARD_METRICS_LISTEN="+metrics, "SIM_URL="+provider.URL, "TICKETS_TOKEN=token")
	s.Start("")
	if _, err := provider.AddFaults(simprovider.Script{System: "tickets", Rate: map[string]float64{"drop_before_commit": 1}}); err != nil {
		t.Fatal(err)
	}
	const n = 6
	var ids []string
	for i := range n {
		a, err := s.Call(t.Context(), "tickets.hasty", fmt.Sprintf(`{"id":"s%d","text":"t"}`, i), 0)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.Operation.ID)
	}
	awaitMetric(t, "http://"+metrics, "all are counted as unknown", func(m scraped) bool {
		return m.sum("onceward_waiting_operations", `state="outcome_unknown"`) == n && m.sum("onceward_ledger_up") == 1 && m.sum("onceward_stuck_operations") == 0
	})
	if err := database.Kill(); err != nil {
		t.Fatal(err)
	}
	provider.ClearFaults()
	// Not all: a row that was taken when they were last counted comes up again later.
	awaitMetric(t, "http://"+metrics, "they are stuck", func(m scraped) bool {
		return m.sum("onceward_stuck_operations", `tool="tickets.hasty"`) >= n/2 && m.sum("onceward_ledger_up") == 0
	})
	if err := database.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitMetric(t, "http://"+metrics, "nothing waits or is stuck", func(m scraped) bool {
		return m.sum("onceward_waiting_operations") == 0 && m.sum("onceward_stuck_operations") == 0 && m.sum("onceward_ledger_up") == 1
	})
	for i, id := range ids {
		a, err := proctest.Ask(t.Context(), http.MethodGet, s.URL()+"/v1/operations/"+id, "")
		if err != nil || a.Operation.State != "succeeded" {
			t.Errorf("operation %d is %s (%v)", i, a.Operation.State, err)
		}
		if effects := provider.Effects(fmt.Sprintf("s%d", i)).Count; effects != 1 {
			t.Errorf("intention %d has %d effects", i, effects)
		}
	}
}
