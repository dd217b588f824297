package linear

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// told is one request of a history that is written by hand: it runs from one
// instant to the other, or is never answered.
type told struct {
	from, to int64
	Call
	Answer
}

func claim(from, to int64, input string, r Result) told {
	return told{from, to, Call{Claim, "k", input}, Answer{Result: r}}
}

func read(from, to int64, state string) told {
	if state == "" {
		return told{from, to, Call{Kind: Read, Key: "k"}, Answer{Result: Absent}}
	}
	return told{from, to, Call{Kind: Read, Key: "k"}, Answer{Result: Seen, State: state}}
}

func cancel(from, to int64, state string) told {
	return told{from, to, Call{Kind: Cancel, Key: "k"}, Answer{Result: Seen, State: state, Cancel: true}}
}

func late(from, to int64) told {
	return told{from, to, Call{Kind: Cancel, Key: "k"}, Answer{Result: TooLate}}
}

// by adds what a look shows beside the state.
func (t told) by(reference string, cancel bool) told {
	t.Reference, t.Cancel = reference, cancel
	return t
}

const never = 0 // an instant at which nothing ends

func verdict(t *testing.T, all ...told) error {
	t.Helper()
	h := &History{}
	for i, r := range all {
		h.Begin(i, r.Call).End(r.Answer)
		o := &h.all[len(h.all)-1]
		if o.Call = r.from; r.to != never {
			o.Return = r.to
		}
	}
	return h.Check(time.Minute, "")
}

func TestWhatARegisterCanHaveShownIsAccepted(t *testing.T) {
	t.Parallel()
	for name, history := range map[string][]told{
		"OneMakesOneJoins":                {claim(1, 2, "a", Made), claim(3, 4, "a", Joined), claim(5, 6, "b", OtherInput)},
		"RaceOfTwo":                       {claim(1, 4, "a", Joined), claim(2, 3, "a", Made)},
		"CancelledBeforeItsMakerKnew":     {claim(1, 9, "a", JoinedOrMade), claim(2, 3, "b", OtherInput), cancel(4, 5, "effect_pending")},
		"JoinedAndThenCancelled":          {claim(1, 2, "a", Made), cancel(3, 4, "effect_pending"), claim(5, 6, "a", JoinedOrMade)},
		"RaceWithAnotherInput":            {claim(1, 9, "a", OtherInput), claim(2, 3, "b", Made)},
		"LostAnswerMadeIt":                {claim(1, never, "a", Unknown), claim(5, 6, "a", Joined)},
		"LostAnswerMadeItLater":           {claim(1, never, "a", Unknown), read(2, 3, ""), claim(5, 6, "a", Joined)},
		"LostAnswerMadeNothing":           {claim(1, never, "a", Unknown), claim(5, 6, "b", Made)},
		"RefusedAndAskedAgain":            {claim(1, 2, "a", Nothing), read(3, 4, ""), claim(5, 6, "a", Made)},
		"ReadBesideTheClaim":              {claim(1, 5, "a", Made), read(2, 3, "")},
		"TheEndStays":                     {claim(1, 2, "a", Made), read(3, 4, "effect_pending"), read(5, 6, "succeeded").by("p-1", false), read(7, 8, "succeeded").by("p-1", true)},
		"CancelledByAWishWithoutAnAnswer": {claim(1, 2, "a", Made), {3, never, Call{Kind: Cancel, Key: "k"}, Answer{}}, read(5, 6, "cancelled").by("", true)},
		"CancelComesTooLate":              {claim(1, 2, "a", Made), read(3, 4, "succeeded"), late(5, 6)},
		"TooLateBeforeTheEndIsSeen":       {claim(1, 2, "a", Made), late(3, 4), read(5, 6, "succeeded")},
	} {
		if err := verdict(t, history...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatNoRegisterCanHaveShownIsFound(t *testing.T) {
	t.Parallel()
	for name, history := range map[string][]told{
		"TwoMadeIt":                    {claim(1, 4, "a", Made), claim(2, 3, "a", Made)},
		"NobodyMadeIt":                 {claim(1, 2, "a", Joined)},
		"MadeBesideItsMaker":           {claim(1, 2, "a", Made), claim(3, 4, "b", JoinedOrMade)},
		"MadeAfterItsMaker":            {claim(1, 2, "a", JoinedOrMade), claim(3, 4, "a", Made)},
		"MadeAgainAfterItWasJoined":    {claim(1, never, "a", Unknown), claim(2, 3, "a", Joined), claim(4, 5, "a", Made)},
		"AnsweredAndThenLost":          {claim(1, 2, "a", Made), read(3, 4, "")},
		"SeenAndThenLost":              {claim(1, never, "a", Unknown), read(2, 3, "effect_pending"), read(4, 5, "")},
		"AnotherInputJoins":            {claim(1, 2, "a", Made), claim(3, 4, "b", Joined)},
		"TheSameInputIsRefused":        {claim(1, 2, "a", Made), claim(3, 4, "a", OtherInput)},
		"RefusedAndRecordedAllTheSame": {claim(1, 2, "a", Nothing), claim(3, 4, "a", Joined)},
		"ReadOfTheDistantPast":         {claim(1, 2, "a", Made), read(3, 4, "succeeded"), read(5, 6, "effect_pending")},
		"TwoEnds":                      {claim(1, 2, "a", Made), cancel(3, 4, "cancelled"), read(5, 6, "succeeded")},
		"TwoReferences":                {claim(1, 2, "a", Made), read(3, 4, "succeeded").by("p-1", false), read(5, 6, "succeeded").by("p-2", false)},
		"CancelledByNobody":            {claim(1, 2, "a", Made), read(3, 4, "cancelled")},
		"TheWishIsForgotten":           {claim(1, 2, "a", Made), cancel(3, 4, "effect_pending"), read(5, 6, "effect_pending")},
		"TooLateAndStillRunning":       {claim(1, 2, "a", Made), late(3, 4), read(5, 6, "effect_pending")},
		"TooLateForNothing":            {late(1, 2), claim(3, 4, "a", Made)},
		"AWishAfterTheEnd":             {claim(1, 2, "a", Made), late(3, 4), {5, never, Call{Kind: Cancel, Key: "k"}, Answer{}}, read(7, 8, "cancelled")},
		"CancelOfNothing":              {cancel(1, 2, "effect_pending"), read(3, 4, "")},
	} {
		if verdict(t, history...) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// ledger is a small claim path with faults that can be planted.
type ledger struct {
	mu           sync.Mutex
	rows, lost   map[string]string // key → input; lost: answered and not committed
	racy         bool              // looks, then writes
	early        bool              // answers before the commit; a crash then loses it
	forgetsInput bool              // joins whatever the input
	pause        func()
}

func (l *ledger) claim(key, input string) Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	there, taken := l.rows[key]
	if l.early {
		if s, ok := l.lost[key]; ok {
			there, taken = s, true
		}
	}
	if l.racy && !taken {
		l.mu.Unlock()
		l.pause()
		l.mu.Lock()
	}
	switch {
	case taken && there != input && !l.forgetsInput:
		return OtherInput
	case taken:
		return Joined
	case l.early:
		l.lost[key] = input
	default:
		l.rows[key] = input
	}
	return Made
}

// crash loses what is not committed.
func (l *ledger) crash() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.lost)
}

// storm lets five clients claim few keys, while the ledger crashes.
func (l *ledger) storm(seed uint64) *History {
	h := &History{}
	l.rows, l.lost = map[string]string{}, map[string]string{}
	var clients sync.WaitGroup
	for client := range 5 {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(client)))
			for i := range 200 {
				c := Call{Claim, fmt.Sprint(i / 20), fmt.Sprint(r.IntN(2))}
				q := h.Begin(client, c)
				result := l.claim(c.Key, c.Input)
				switch r.IntN(20) {
				case 0:
					q.End(Answer{}) // the answer is lost
				default:
					q.End(Answer{Result: result})
				}
				if r.IntN(20) == 0 {
					l.crash()
				}
			}
		})
	}
	clients.Wait()
	return h
}

// untilAllAreThere makes the race of racy certain: whoever has looked waits for
// a second one who looks, for a while.
func untilAllAreThere() func() {
	second := make(chan struct{})
	return func() {
		select {
		case second <- struct{}{}:
		case <-second:
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestPlantedFaultsOfAClaimPathAreFound(t *testing.T) {
	t.Parallel()
	if err := (&ledger{}).storm(1).Check(time.Minute, ""); err != nil {
		t.Errorf("the ledger without a fault: %v", err)
	}
	for name, l := range map[string]*ledger{
		"LooksThenWrites":        {racy: true, pause: untilAllAreThere()},
		"AnswersBeforeTheCommit": {early: true},
		"ComparesNoInput":        {forgetsInput: true},
		"LooksAndAnswersEarly":   {racy: true, early: true, pause: untilAllAreThere()},
	} {
		page := filepath.Join(t.TempDir(), "history.html")
		err := l.storm(2).Check(time.Minute, page)
		if err == nil || !strings.Contains(err.Error(), "Illegal") {
			t.Errorf("%s: Check = %v, want it found", name, err)
			continue
		}
		if shown, err := os.ReadFile(page); err != nil || !strings.Contains(string(shown), "claim(") {
			t.Errorf("%s: the history is not drawn (%v)", name, err)
		}
	}
}

func TestSpoiltHistoryLeavesTheOldOneAlone(t *testing.T) {
	t.Parallel()
	h := (&ledger{}).storm(3)
	spoilt, ok := h.Spoil(func(_ Call, a *Answer) bool {
		hit := a.Result == Joined
		if hit {
			a.Result = Made
		}
		return hit
	})
	if !ok || spoilt.Check(time.Minute, "") == nil {
		t.Error("a second claim that made it is accepted")
	}
	if err := h.Check(time.Minute, ""); err != nil {
		t.Errorf("the history itself: %v", err)
	}
}
