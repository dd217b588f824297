package committer_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a store whose commits wait until they are let go, and that answers as
// it is told.
type disk struct {
	onceward.Store // nothing but Commit is called

	entered chan []onceward.Change
	answer  chan error
	mu      sync.Mutex
	batches [][]onceward.Change
}

func newDisk() *disk {
	return &disk{entered: make(chan []onceward.Change, 64), answer: make(chan error, 64)}
}

// Commit implements onceward.Store.
func (d *disk) Commit(_ context.Context, batch []onceward.Change) (onceward.Commit, error) {
	d.mu.Lock()
	d.batches = append(d.batches, batch)
	d.mu.Unlock()
	d.entered <- batch
	if err := <-d.answer; err != nil {
		return onceward.Commit{}, err
	}
	out := onceward.Commit{Results: make([]onceward.Committed, len(batch))}
	for i := range out.Results {
		out.Results[i].Applied = true
	}
	return out, nil
}

func change(id, version byte) onceward.Change {
	return onceward.Change{Before: int64(version - 1), After: onceward.Operation{ID: onceward.OperationID{id}, Version: int64(version)}}
}

// queue writes changes, one caller each, and waits until all of them wait
// behind the commit that is under way.
func queue(t *testing.T, c *committer.Committer, changes ...onceward.Change) []chan error {
	t.Helper()
	ends := make([]chan error, len(changes))
	for i, ch := range changes {
		ends[i] = make(chan error, 1)
		before := c.Depth()
		go func() {
			_, err := c.Write(context.Background(), &ch)
			ends[i] <- err
		}()
		for c.Depth() == before {
			if t.Context().Err() != nil {
				t.Fatal("the change is never queued")
			}
		}
	}
	return ends
}

// hold makes a commit be under way, so that what follows gathers behind it.
func hold(t *testing.T, c *committer.Committer, d *disk) chan error {
	t.Helper()
	end := make(chan error, 1)
	go func() {
		_, err := c.Write(context.Background(), new(change(255, 1)))
		end <- err
	}()
	<-d.entered
	return end
}

func TestWhatArrivesDuringACommitSharesTheNext(t *testing.T) {
	d := newDisk()
	c := committer.New(d, committer.Options{})
	defer c.Close()
	first := hold(t, c, d)
	ends := queue(t, c, change(1, 1), change(2, 1), change(3, 1))
	d.answer <- nil
	if batch := <-d.entered; len(batch) != 3 {
		t.Fatalf("the next commit has %d changes, want the 3 that waited", len(batch))
	}
	d.answer <- nil
	for _, end := range append(ends, first) {
		if err := <-end; err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoChangesOfOneOperationNeverShareACommit(t *testing.T) {
	d := newDisk()
	c := committer.New(d, committer.Options{})
	defer c.Close()
	first := hold(t, c, d)
	ends := queue(t, c, change(1, 1), change(1, 2), change(2, 1))
	d.answer <- nil
	if batch := <-d.entered; len(batch) != 2 || batch[0].After.Version != 1 {
		t.Fatalf("the commit has %d changes, want the first of each operation", len(batch))
	}
	d.answer <- nil
	if batch := <-d.entered; len(batch) != 1 || batch[0].After.Version != 2 {
		t.Fatalf("the second change is not alone in the commit after: %v", batch)
	}
	d.answer <- nil
	for _, end := range append(ends, first) {
		if err := <-end; err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPoisonedChangeFailsAlone(t *testing.T) {
	d := newDisk()
	c := committer.New(d, committer.Options{})
	defer c.Close()
	first := hold(t, c, d)
	ends := queue(t, c, change(1, 1), change(2, 1))
	poison := &onceward.Error{Code: onceward.CodeTooLarge}
	d.answer <- nil
	<-d.entered
	d.answer <- poison // both together
	<-d.entered
	d.answer <- poison // the first alone
	<-d.entered
	d.answer <- nil // the second alone
	if err := <-ends[0]; !onceward.Is(err, onceward.CodeTooLarge) {
		t.Errorf("the poisoned one: %v", err)
	}
	if err := <-ends[1]; err != nil {
		t.Errorf("its neighbour: %v", err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestALostCommitIsRunAgainBeforeAnybodyIsAnswered(t *testing.T) {
	d := newDisk()
	c := committer.New(d, committer.Options{})
	defer c.Close()
	end := hold(t, c, d)
	d.answer <- &onceward.Error{Code: onceward.CodeMayBeRecorded}
	again := <-d.entered
	select {
	case err := <-end:
		t.Fatalf("answered before it is known what became of the commit: %v", err)
	default:
	}
	if again[0].After.ID != (onceward.OperationID{255}) {
		t.Fatal("another batch was run")
	}
	d.answer <- nil
	if err := <-end; err != nil {
		t.Fatal(err)
	}
}

func TestAFullQueueRefusesAndRecordsNothing(t *testing.T) {
	d := newDisk()
	c := committer.New(d, committer.Options{QueueMax: 1})
	defer c.Close()
	first := hold(t, c, d)
	ends := queue(t, c, change(1, 1))
	if _, err := c.Write(t.Context(), new(change(2, 1))); !onceward.Is(err, onceward.CodeOverloaded) {
		t.Errorf("a full queue: %v, want %s", err, onceward.CodeOverloaded)
	}
	d.answer <- nil
	<-d.entered
	d.answer <- nil
	for _, end := range []chan error{ends[0], first} {
		if err := <-end; err != nil {
			t.Error(err)
		}
	}
	for _, b := range d.batches {
		for _, ch := range b {
			if ch.After.ID == (onceward.OperationID{2}) {
				t.Error("the refused change was committed")
			}
		}
	}
}

func TestCloseCommitsWhatIsQueuedAndThenRefuses(t *testing.T) {
	d := newDisk()
	c := committer.New(d, committer.Options{})
	first := hold(t, c, d)
	ends := queue(t, c, change(1, 1))
	d.answer <- nil
	d.answer <- nil
	c.Close()
	if err := <-ends[0]; err != nil {
		t.Errorf("what was queued: %v", err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	if _, err := c.Write(t.Context(), new(change(2, 1))); !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Errorf("after close: %v", err)
	}
}

func TestAloneAndCalledAwayIsAnsweredBeforeTheCommitEnds(t *testing.T) {
	d := newDisk()
	c := committer.New(d, committer.Options{})
	defer c.Close()
	ctx, leave := context.WithCancel(context.Background())
	end := make(chan error, 1)
	go func() {
		_, err := c.Write(ctx, new(change(1, 1)))
		end <- err
	}()
	<-d.entered
	leave()
	if err := <-end; !onceward.Is(err, onceward.CodeMayBeRecorded) {
		t.Errorf("called away: %v, want %s", err, onceward.CodeMayBeRecorded)
	}
	d.answer <- nil
}

// fatal is a store whose first commit ends the goroutine that makes it.
type fatal struct {
	onceward.Store // nothing but Commit is called
	calls          int
}

// Commit implements onceward.Store.
func (f *fatal) Commit(context.Context, []onceward.Change) (onceward.Commit, error) {
	if f.calls++; f.calls == 1 {
		runtime.Goexit()
	}
	return onceward.Commit{Results: []onceward.Committed{{Applied: true}}}, nil
}

func TestALoneCallerThatEndsInItsCommitHoldsUpNobody(t *testing.T) {
	c := committer.New(&fatal{}, committer.Options{})
	defer c.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = c.Write(context.Background(), new(change(1, 1)))
	}()
	<-gone
	if _, err := c.Write(t.Context(), new(change(2, 1))); err != nil {
		t.Error(err)
	}
}
