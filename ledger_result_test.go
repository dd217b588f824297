package onceward_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// Whatever is JSON's nothing is a result all the same: stored, and replayed as
// it came, by another process and after a restart.
func TestEmptyAndFalsyResultsAreReplayedAsTheyCame(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{"Null": []byte("null"), "Zero": []byte("0"), "False": []byte("false"), "EmptyString": []byte(`""`), "Empty": {}, "None": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
				w.provider.AnswerWith(oncewardtest.Answer{Status: 200, Body: body})
				first := w.ask(`{"id":"a"}`)
				again := w.another().ask(`{"id":"a"}`)
				for _, a := range []*onceward.Answer{first, again} {
					r := a.Operation.Result
					if a.Operation.State != onceward.StateSucceeded || r == nil || !r.BodyKept || r.Body == nil || !bytes.Equal(r.Body, body) || r.Status != 200 {
						t.Fatalf("%s has the result %+v", a.Decision, r)
					}
				}
				if again.Decision != onceward.DecisionReplayed {
					t.Fatalf("the second is %s", again.Decision)
				}
				w.wantWrites(1)
			})
		})
	}
}

func TestAnAnswerThatIsNotKeptIsDoneWithoutItsBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer oncewardtest.Answer
		keep   onceward.Keep
		kept   bool
	}{
		"AtTheLimit":       {oncewardtest.Answer{Status: 201, Body: bytes.Repeat([]byte("x"), 100)}, onceward.KeepFull, true},
		"LongerThanIsKept": {oncewardtest.Answer{Status: 201, Body: bytes.Repeat([]byte("x"), 101)}, onceward.KeepFull, false},
		"LongerThanIsRead": {oncewardtest.Answer{Status: 201, Body: []byte("eff_1"), TooBig: true}, onceward.KeepFull, false},
		"Redacted":         {oncewardtest.Answer{Status: 201, Body: []byte("eff_1")}, onceward.KeepRedacted, false},
		"DigestOnly":       {oncewardtest.Answer{Status: 201, Body: []byte("eff_1")}, onceward.KeepDigest, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.KeepBytes, i.KeepResult = 100, c.keep })
			onEachStore(t, tool, func(t *testing.T, w *world) {
				w.provider.AnswerWith(c.answer)
				a := w.ask(`{"id":"a"}`)
				w.pass(time.Hour)
				again := w.ask(`{"id":"a"}`)
				r := again.Operation.Result
				if again.Decision != onceward.DecisionReplayed || r == nil || r.BodyKept != c.kept || (len(r.Body) > 0) != c.kept || again.Operation.Reference == "" {
					t.Fatalf("it is %s with reference %q and result %+v", again.Decision, again.Operation.Reference, r)
				}
				w.want(a.Operation, onceward.StateSucceeded, 1)
				w.wantWrites(1)
			})
		})
	}
}

func TestReplayedHeadersAreThoseOfTheEffectNotOfTheDelivery(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		stays := []onceward.HeaderField{{Name: "Location", Value: "/tickets/1"}, {Name: "Link", Value: "</a>"}, {Name: "Link", Value: "</b>"}, {Name: "ETag", Value: `"1"`}}
		goes := []onceward.HeaderField{{Name: "Set-Cookie", Value: "session=secret"}, {Name: "Authorization", Value: "Bearer secret"}, {Name: "Date", Value: "now"}, {Name: "Connection", Value: "close"}}
		w.provider.AnswerWith(oncewardtest.Answer{Status: 201, Header: append(goes, stays...), Body: []byte("eff_1")})
		w.ask(`{"id":"a"}`)
		again := w.ask(`{"id":"a"}`)
		if diff := cmp.Diff(stays, again.Operation.Result.Header); diff != "" {
			t.Fatalf("the replayed headers differ (-want +got):\n%s", diff)
		}
	})
}

func TestAnotherPrincipalOfTheTenantJoinsWithoutTheResult(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		ann, bob := caller("acme", "ann"), caller("acme", "bob")
		first, err := w.submit(`{"id":"a"}`, as(ann), waiting(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		second, err := w.submit(`{"id":"a"}`, as(bob), waiting(time.Minute))
		if err != nil || second.Decision != onceward.DecisionReplayed || second.Operation.ID != first.Operation.ID {
			t.Fatalf("the second principal gets %+v, %v", second, err)
		}
		if !ann.SeesResult(second.Operation) || bob.SeesResult(second.Operation) {
			t.Fatal("the result is for whoever asked first, not for whoever joined")
		}
		w.wantWrites(1)
	})
}
