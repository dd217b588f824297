package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

var listings = []situation{
	{"ListIsNewestFirst", listIsNewestFirst},
	{"PagesAreStableUnderInserts", pagesAreStable},
	{"PagesBreakTiesByID", pagesBreakTiesByID},
	{"PagesOfOnePathCoverEverythingOnce", pagesCoverEverythingOnce},
	{"FiltersSelect", filtersSelect},
	{"StatesOffThePathAreListed", statesOffThePath},
	{"KeyIsLookedUp", keyIsLookedUp},
	{"KeyOfACollidingIDIsNotFound", keyOfACollidingID},
	{"OtherTenantIsNotSeen", otherTenantIsNotSeen},
	{"ListGivesWholeOperations", listGivesWholeOperations},
	{"AgedWalksOldestFirstWithoutBodies", agedWalksOldestFirst},
	{"FiltersByTimeActorAndReferenceSelect", filtersByTimeActorAndReference},
	{"SearchLooksAtABoundedNumberAndGoesOn", searchIsBounded},
	{"WaitingIsCountedUpToABound", waitingIsCounted},
}

// at sets when an operation was created.
func at(t time.Time) func(*onceward.Operation) {
	return func(o *onceward.Operation) { o.CreatedAt, o.UpdatedAt, o.IntentAt = t, t, t }
}

func (f *fixture) ago(n int) time.Time { return f.origin.Add(-time.Duration(n) * time.Second) }

func cursor(op *onceward.Operation) onceward.Cursor {
	return onceward.Cursor{CreatedAt: op.CreatedAt, ID: op.ID}
}

// walk reads page after page to the end, which comes after n operations at most.
func (f *fixture) walk(filter onceward.Filter, n int) []*onceward.Operation {
	f.Helper()
	var all []*onceward.Operation
	for page := f.page(filter); len(page) > 0; page = f.page(filter) {
		if all = append(all, page...); len(all) > n {
			f.Fatalf("the pages show %d operations and no end, want at most %d", len(all), n)
		}
		filter.After = cursor(page[len(page)-1])
	}
	return all
}

func listIsNewestFirst(f *fixture) {
	f.equal("the listing of nothing", 0, len(f.list(onceward.Filter{})))
	f.store(insert(f.claimed("b", at(f.ago(2)))), insert(f.claimed("a", at(f.ago(3)))), insert(f.claimed("c", at(f.ago(1)))))
	f.equal("the listing", []string{"c", "b", "a"}, f.list(onceward.Filter{}))
	f.equal("the first page", []string{"c", "b"}, f.list(onceward.Filter{Limit: 2}))
}

func pagesAreStable(f *fixture) {
	for i := range 6 {
		f.store(insert(f.claimed(fmt.Sprint(i), at(f.ago(10+i)))))
	}
	first := f.page(onceward.Filter{Limit: 3})
	f.equal("the first page", []string{"0", "1", "2"}, keys(first))
	f.store(insert(f.claimed("newer", at(f.ago(1)))))
	f.equal("the second page", []string{"3", "4", "5"}, f.list(onceward.Filter{After: cursor(first[2]), Limit: 3}))
	f.equal("the page after the last", 0, len(f.list(onceward.Filter{After: cursor(f.load(f.claimed("5").ID)), Limit: 3})))
}

func pagesBreakTiesByID(f *fixture) {
	want := map[string]bool{}
	for i := range 9 {
		f.store(insert(f.claimed(fmt.Sprint(i))))
		want[fmt.Sprint(i)] = true
	}
	var ids []string
	filter := onceward.Filter{Limit: 2}
	for _, op := range f.walk(filter, 9) {
		ids = append(ids, op.ID.String())
		delete(want, string(op.Key))
	}
	f.equal("the operations that no page shows", 0, len(want))
	f.equal("the number of rows shown", 9, len(ids))
	if !slices.IsSortedFunc(ids, func(a, b string) int { return strings.Compare(b, a) }) {
		f.Errorf("operations of one instant are not in descending order of ID: %v", ids)
	}
}

// offPath stores an operation in a state off the happy path, with its due row.
func (f *fixture) offPath(key string, state onceward.State, created time.Time, edits ...func(*onceward.Operation)) {
	f.Helper()
	op := f.claimed(key, append([]func(*onceward.Operation){at(created), func(o *onceward.Operation) { o.State = state }}, edits...)...)
	c := insert(op)
	c.Due = f.due(op, onceward.DueEnded, time.Time{})
	f.store(c)
}

func pagesCoverEverythingOnce(f *fixture) {
	states := []onceward.State{onceward.StateFailed, onceward.StateReady, onceward.StateNeedsReview}
	for i := range 30 {
		f.offPath(fmt.Sprint(i), states[i%3], f.ago(i/2))
	}
	for _, filter := range []onceward.Filter{{States: states, Limit: 4}, {States: states[:2], Limit: 3}, {States: states[:1], Limit: 1}} {
		want := f.list(onceward.Filter{States: filter.States})
		got := keys(f.walk(filter, 30))
		f.equal("the pages put together", want, got)
		f.equal("their length", 10*len(filter.States), len(got))
	}
}

func filtersSelect(f *fixture) {
	f.store(
		insert(f.claimed("plain", at(f.ago(9)))),
		insert(f.claimed("mail", at(f.ago(8)), func(o *onceward.Operation) { o.Tool = "mail.send" })),
		insert(f.claimed("run", at(f.ago(7)), func(o *onceward.Operation) { o.Run = "run-1" })),
		insert(f.claimed("corr", at(f.ago(6)), func(o *onceward.Operation) { o.CorrelationID = "corr-1" })),
		insert(f.claimed("both", at(f.ago(5)), func(o *onceward.Operation) { o.Run, o.CorrelationID = "run-1", "corr-1" })),
	)
	ended := f.claimed("ended", at(f.ago(4)))
	f.store(insert(ended))
	f.store(update(done(ended)))
	pending := []onceward.State{onceward.StateEffectPending}
	for name, c := range map[string]struct {
		filter onceward.Filter
		want   []string
	}{
		"tool":          {onceward.Filter{Tool: "mail.send"}, []string{"mail"}},
		"run":           {onceward.Filter{Run: "run-1"}, []string{"both", "run"}},
		"correlation":   {onceward.Filter{CorrelationID: "corr-1"}, []string{"both", "corr"}},
		"both":          {onceward.Filter{Run: "run-1", CorrelationID: "corr-1"}, []string{"both"}},
		"tool and run":  {onceward.Filter{Tool: "mail.send", Run: "run-1"}, nil},
		"no such run":   {onceward.Filter{Run: "run-2"}, nil},
		"run, page 2":   {onceward.Filter{Run: "run-1", After: cursor(f.load(f.claimed("both").ID))}, []string{"run"}},
		"pending":       {onceward.Filter{States: pending}, []string{"both", "corr", "run", "mail", "plain"}},
		"succeeded":     {onceward.Filter{States: []onceward.State{onceward.StateSucceeded}}, []string{"ended"}},
		"run, pending":  {onceward.Filter{Run: "run-1", States: pending}, []string{"both", "run"}},
		"tool, pending": {onceward.Filter{Tool: tool, States: pending, Limit: 2}, []string{"both", "corr"}},
	} {
		f.equal("the listing by "+name, c.want, f.list(c.filter))
	}
}

func statesOffThePath(f *fixture) {
	f.offPath("failed", onceward.StateFailed, f.ago(4))
	f.offPath("review", onceward.StateNeedsReview, f.ago(3))
	f.offPath("mail", onceward.StateFailed, f.ago(2), func(o *onceward.Operation) { o.Tool, o.Run = "mail.send", "run-1" })
	ended := f.claimed("ended", at(f.ago(1)))
	f.store(insert(ended))
	f.store(update(done(ended)))
	failed, review := onceward.StateFailed, onceward.StateNeedsReview
	for name, c := range map[string]struct {
		filter onceward.Filter
		want   []string
	}{
		"one state":          {onceward.Filter{States: []onceward.State{failed}}, []string{"mail", "failed"}},
		"two states":         {onceward.Filter{States: []onceward.State{failed, review}}, []string{"mail", "review", "failed"}},
		"two, page 2":        {onceward.Filter{States: []onceward.State{review, failed}, After: cursor(f.load(f.claimed("review").ID))}, []string{"failed"}},
		"one state, a tool":  {onceward.Filter{States: []onceward.State{failed}, Tool: tool}, []string{"failed"}},
		"one state, a run":   {onceward.Filter{States: []onceward.State{failed}, Run: "run-1"}, []string{"mail"}},
		"off and on":         {onceward.Filter{States: []onceward.State{failed, onceward.StateSucceeded}}, []string{"ended", "mail", "failed"}},
		"a state of nothing": {onceward.Filter{States: []onceward.State{onceward.StateAbandoned}}, nil},
		"a state twice":      {onceward.Filter{States: []onceward.State{review, review}}, []string{"review"}},
	} {
		f.equal("the listing by "+name, c.want, f.list(c.filter))
	}
}

func keyIsLookedUp(f *fixture) {
	op := f.claimed("k", func(o *onceward.Operation) { o.Run = "run-1" })
	f.store(withAliases(op, f.claimed("earlier")))
	f.equal("the key", []string{"k"}, f.list(onceward.Filter{Tool: tool, Key: "k"}))
	f.equal("an earlier key of the same operation", []string{"k"}, f.list(onceward.Filter{Tool: tool, Key: "earlier"}))
	f.equal("another key", 0, len(f.list(onceward.Filter{Tool: tool, Key: "other"})))
	f.equal("the key under another tool", 0, len(f.list(onceward.Filter{Tool: "mail.send", Key: "k"})))
	f.equal("the key in another run", 0, len(f.list(onceward.Filter{Tool: tool, Key: "k", Run: "run-2"})))
	f.equal("the key in another state", 0, len(f.list(onceward.Filter{Tool: tool, Key: "k", States: []onceward.State{onceward.StateFailed}})))
	f.equal("the page after the key", 0, len(f.list(onceward.Filter{Tool: tool, Key: "k", After: cursor(&op)})))
}

func keyOfACollidingID(f *fixture) {
	op := f.claimed("k")
	op.ID = onceward.NewOperationID(tenant, tool, "other") // as if the two had one digest
	f.store(insert(op))
	f.equal("the other key", 0, len(f.list(onceward.Filter{Tool: tool, Key: "other"})))
}

func otherTenantIsNotSeen(f *fixture) {
	f.store(insert(f.claimed("mine")))
	f.store(insert(f.claimed("theirs", func(o *onceward.Operation) { o.Tenant, o.Run = "globex", "run-1" })))
	f.equal("my listing", []string{"mine"}, f.list(onceward.Filter{}))
	f.equal("their listing", []string{"theirs"}, f.list(onceward.Filter{Tenant: "globex"}))
	f.equal("their run, asked by me", 0, len(f.list(onceward.Filter{Run: "run-1"})))
	f.equal("their key, asked by me", 0, len(f.list(onceward.Filter{Tool: tool, Key: "theirs"})))
}

func listGivesWholeOperations(f *fixture) {
	op := f.claimed("k", func(o *onceward.Operation) { o.Input = make([]byte, 5000) })
	f.store(insert(op))
	f.equal("the operation listed", []*onceward.Operation{&op}, f.page(onceward.Filter{}))
}

func agedWalksOldestFirst(f *fixture) {
	for i := range 5 {
		f.store(insert(f.claimed(fmt.Sprint(i), at(f.ago(10-i)), func(o *onceward.Operation) {
			o.Input = make([]byte, 3000)
			if i%2 == 1 {
				o.Tenant = "globex"
			}
		})))
	}
	f.store(insert(f.claimed("young", at(f.ago(1)))))
	aged, err := f.other.Aged(f.ctx, onceward.Cursor{}, f.ago(3), 3)
	f.must(err)
	f.equal("the first page", []string{"0", "1", "2"}, keys(aged))
	for _, op := range aged {
		if op.Input != nil || op.Request != nil || op.Result != nil || op.Version != 1 || len(op.Attempts) != 1 {
			f.Errorf("an aged operation is %+v, want it without bodies", op)
		}
	}
	rest, err := f.other.Aged(f.ctx, cursor(aged[2]), f.ago(3), 3)
	f.must(err)
	f.equal("the second page", []string{"3", "4"}, keys(rest))
}

// searchable stores twelve operations, every third of ada, every fourth with a
// reference, and every second one off the happy path.
func searchable(f *fixture) {
	for i := range 12 {
		edit := func(o *onceward.Operation) {
			if i%3 == 0 {
				o.Actor = "i:ada"
			}
			if i%4 == 0 {
				o.Reference = "T-1"
			}
		}
		if i%2 == 0 {
			f.offPath(fmt.Sprint(i), []onceward.State{onceward.StateFailed, onceward.StateNeedsReview}[i/2%2], f.ago(20-i), edit)
		} else {
			f.store(insert(f.claimed(fmt.Sprint(i), at(f.ago(20-i)), edit)))
		}
	}
	f.offPath("theirs", onceward.StateFailed, f.ago(30), func(o *onceward.Operation) { o.Tenant, o.Actor, o.Reference = "globex", "i:ada", "T-1" })
}

// searches are filters of the searchable operations, and what they select.
var searches = map[string]struct {
	filter onceward.Filter
	want   []string
}{
	"actor":             {onceward.Filter{Actor: "i:ada"}, []string{"9", "6", "3", "0"}},
	"reference":         {onceward.Filter{Reference: "T-1"}, []string{"8", "4", "0"}},
	"both":              {onceward.Filter{Actor: "i:ada", Reference: "T-1"}, []string{"0"}},
	"nobody":            {onceward.Filter{Actor: "i:bob"}, nil},
	"a state, an actor": {onceward.Filter{Actor: "i:ada", States: []onceward.State{onceward.StateNeedsReview}}, []string{"6"}},
	"states, a ref":     {onceward.Filter{Reference: "T-1", States: []onceward.State{onceward.StateFailed, onceward.StateNeedsReview}}, []string{"8", "4", "0"}},
	"a tool, a state":   {onceward.Filter{Tool: tool, States: []onceward.State{onceward.StateFailed}}, []string{"8", "4", "0"}},
	"no such tool":      {onceward.Filter{Tool: "mail.send", States: []onceward.State{onceward.StateFailed}}, nil},
	"off and on":        {onceward.Filter{Actor: "i:ada", States: []onceward.State{onceward.StateEffectPending, onceward.StateFailed}}, []string{"9", "3", "0"}},
}

func filtersByTimeActorAndReference(f *fixture) {
	searchable(f)
	for name, c := range searches {
		f.equal("the listing by "+name, c.want, f.list(c.filter))
	}
	for name, c := range map[string]struct {
		filter onceward.Filter
		want   []string
	}{
		"from":           {onceward.Filter{From: f.ago(10)}, []string{"11", "10"}},
		"to":             {onceward.Filter{To: f.ago(18)}, []string{"1", "0"}},
		"between":        {onceward.Filter{From: f.ago(18), To: f.ago(16)}, []string{"3", "2"}},
		"between, state": {onceward.Filter{From: f.ago(18), To: f.ago(16), States: []onceward.State{onceward.StateNeedsReview}}, []string{"2"}},
	} {
		f.equal("the listing by "+name, c.want, f.list(c.filter))
	}
}

func searchIsBounded(f *fixture) {
	searchable(f)
	for name, c := range searches {
		for _, scan := range []int{1, 2, 3, 5, 12, 50} {
			for _, limit := range []int{1, 2, 10} {
				filter := c.filter
				filter.Tenant, filter.Limit = tenant, limit
				var got []string
				for steps := 0; ; steps++ {
					if steps > 40 {
						f.Fatalf("the search by %s, %d at a time, never ends", name, scan)
					}
					page, stopped, err := f.other.Search(f.ctx, filter, scan)
					f.must(err)
					got = append(got, keys(page)...)
					if filter.After = stopped; len(page) == limit {
						filter.After = cursor(page[limit-1])
					} else if stopped == (onceward.Cursor{}) {
						break
					}
				}
				f.equal(fmt.Sprintf("the search by %s, looking at %d for pages of %d", name, scan, limit), c.want, got)
			}
		}
	}
}

func waitingIsCounted(f *fixture) {
	for i := range 4 {
		f.offPath(fmt.Sprint(i), onceward.StateNeedsReview, f.ago(10-i))
	}
	f.offPath("theirs", onceward.StateNeedsReview, f.ago(30), func(o *onceward.Operation) { o.Tenant = "globex" })
	states := []onceward.State{onceward.StateAwaitingApproval, onceward.StateNeedsReview}
	for most, want := range map[int]int{2: 2, 4: 4, 100: 4} {
		got, err := f.other.CountWaiting(f.ctx, tenant, states, most)
		f.must(err)
		f.equal("what waits", []onceward.Waiting{{State: states[0]}, {State: states[1], Count: want, Oldest: f.claimed("0").ID, Since: f.ago(10)}}, got)
	}
}
