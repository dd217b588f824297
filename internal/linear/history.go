package linear

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// History is what clients did and were told. The zero value is empty and ready;
// it is safe for concurrent use.
type History struct {
	mu    sync.Mutex
	began time.Time
	all   []porcupine.Operation
}

// Request is one that runs.
type Request struct {
	history *History
	client  int
	call    Call
	at      int64
}

// now counts from the history's first request, by the monotonic clock.
func (h *History) now() int64 {
	if h.began.IsZero() {
		h.began = time.Now()
	}
	return int64(time.Since(h.began))
}

// Begin notes that a client is about to make a request.
func (h *History) Begin(client int, c Call) Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Request{h, client, c, h.now()}
}

// End notes what it was told. An unknown answer ends at no time: what was asked
// for may still happen, or never. A read that was not answered is no news.
func (r Request) End(a Answer) {
	h := r.history
	h.mu.Lock()
	defer h.mu.Unlock()
	over := h.now()
	if a.Result == Unknown {
		if r.call.Kind == Read {
			return
		}
		over = math.MaxInt64
	}
	h.all = append(h.all, porcupine.Operation{ClientId: r.client, Input: r.call, Call: r.at, Output: a, Return: over})
}

// EndClaim notes what a claim was told whose answer shows the operation as well,
// as it was at a later instant than that of the claim: two requests in one.
func (r Request) EndClaim(a, look Answer) {
	r.End(a)
	if look.Result == Seen {
		Request{r.history, r.client, Call{Kind: Read, Key: r.call.Key}, r.at}.End(look)
	}
}

// Len is how many requests are noted.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// Count counts the requests that were answered in a way.
func (h *History) Count(result Result) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, o := range h.all {
		if o.Output.(Answer).Result == result {
			n++
		}
	}
	return n
}

// Spoil copies the history and changes the first answer that edit changes. A
// checker that does not mind the copy checks nothing. It reports false where
// edit changed none.
func (h *History) Spoil(edit func(Call, *Answer) bool) (*History, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	spoiled := &History{began: h.began, all: slices.Clone(h.all)}
	for i := range spoiled.all {
		a := spoiled.all[i].Output.(Answer)
		if edit(spoiled.all[i].Input.(Call), &a) {
			spoiled.all[i].Output = a
			return spoiled, true
		}
	}
	return nil, false
}

// Check tells whether the history is linearizable. If it is not, or if that was
// not found out within the limit, the error says so, and if path is not empty a
// page that shows the history is written there.
func (h *History) Check(limit time.Duration, path string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	verdict, info := porcupine.CheckOperationsVerbose(model, h.all, limit)
	if verdict == porcupine.Ok {
		return nil
	}
	err := fmt.Errorf("history of %d requests: linearizable: %s", len(h.all), verdict)
	if path == "" {
		return err
	}
	if drawn := porcupine.VisualizePath(model, info, path); drawn != nil {
		return fmt.Errorf("%w; draw it: %w", err, drawn)
	}
	return fmt.Errorf("%w; see %s", err, path)
}
