package providertest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// Harness is one provider as the suite uses it.
type Harness struct {
	// Open makes a provider for one test and closes it with that test.
	Open func(tb testing.TB) onceward.Provider

	// Write renders a write that the provider sends to addr (host:port). It is
	// the same for the same addr.
	Write func(addr string) *onceward.Request

	// Other answers requests of the provider that are not the write itself, as
	// Upstream.Ignore takes it; nil: there are none.
	Other func(Seen) (raw string, is bool)

	// Done is the raw HTTP/1.1 answer, with Content-Length, to a write that was
	// performed; empty: OK.
	Done string
}

// Run holds a provider to the port. Each rule is one subtest, named by its
// situation.
func Run(t *testing.T, h Harness) {
	if h.Done == "" {
		h.Done = OK
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"AnsweredWriteIsSeenWhole", answeredWrite},
		{"EveryAttemptWritesTheSameBytes", sameBytes},
		{"ParallelWritesArriveOnceEach", parallelWrites},
		{"ServerErrorIsAnAnswer", serverError},
		{"InformationalAnswerIsNotTheAnswer", informational},
		{"RedirectOfAWriteIsNotFollowed", redirects},
		{"ConnectionRefusedSendsNothing", refused},
		{"HostOffTheListSendsNothing", offTheList},
		{"AnswerLostAfterTheWriteIsNotSentAgain", answerLost},
		{"ReusedConnectionThatDiesIsNotSentAgain", reusedDies},
		{"ConnectionClosedWhileIdleIsReplaced", idleClosed},
		{"LastCheckThatRefusesSendsNothing", lastCheck},
		{"LeaseThatHasPassedSendsNothing", leasePassed},
		{"LeaseThatPassesDuringTheLastCheckSendsNothing", leasePasses},
		{"SilenceEndsAtTheDeadline", silence},
		{"CancelledBeforeSendsNothing", cancelledBefore},
		{"CancelledWhileWaitingKeepsWhatWasSeen", cancelledWaiting},
		{"CutBodyKeepsTheHead", cutBody},
		{"LongBodyIsSaidToBeTooBig", longBody},
		{"NonsenseIsAProtocolFailure", nonsense},
		{"SecretsDoNotComeBack", secrets},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, h)
		})
	}
}

func (h Harness) upstream(t *testing.T, steps ...Step) *Upstream {
	t.Helper()
	u := NewUpstream(t, steps...)
	u.rest = Answer(h.Done)
	u.Ignore(h.Other)
	return u
}

// options are those of a write to u; deadline is long, so that only its own
// test meets it.
func options(u *Upstream) onceward.SendOptions {
	return onceward.SendOptions{Write: true, Deadline: 20 * time.Second, Hosts: []string{u.Addr()}}
}

// count fails unless exactly n writes arrived.
func count(t *testing.T, u *Upstream, n int) {
	t.Helper()
	if got := len(u.Requests()); got != n {
		t.Errorf("%d writes arrived, want %d", got, n)
	}
}

// notSent fails unless ev says that nothing left, and why.
func notSent(t *testing.T, ev onceward.Evidence, class onceward.ErrorClass) {
	t.Helper()
	if !ev.Reach.NothingSent() || !ev.LastByteAt.IsZero() || ev.Status != 0 {
		t.Errorf("evidence does not say that nothing was sent: %s", show(ev))
	}
	described(t, ev, class)
}

// described fails unless ev names what went wrong.
func described(t *testing.T, ev onceward.Evidence, class onceward.ErrorClass) {
	t.Helper()
	if ev.ErrorClass != class || ev.ErrorCode == "" || ev.ErrorText == "" {
		t.Errorf("error = %v %q %q, want class %v with code and text", ev.ErrorClass, ev.ErrorCode, ev.ErrorText, class)
	}
	if ev.EndedAt.Before(ev.StartedAt) {
		t.Errorf("ended %v before it started %v", ev.EndedAt, ev.StartedAt)
	}
}

// sentUnanswered fails unless ev says that bytes left and no answer came.
func sentUnanswered(t *testing.T, ev onceward.Evidence, class onceward.ErrorClass) {
	t.Helper()
	if ev.Reach != onceward.ReachHeadersWritten && ev.Reach != onceward.ReachBodyWritten || ev.Status != 0 {
		t.Errorf("reach = %v, status = %d, want written and unanswered", ev.Reach, ev.Status)
	}
	if ev.LastByteAt.Before(ev.StartedAt) || ev.LastByteAt.After(ev.EndedAt) {
		t.Errorf("last byte at %v, want between %v and %v", ev.LastByteAt, ev.StartedAt, ev.EndedAt)
	}
	described(t, ev, class)
}

func answeredWrite(t *testing.T, h Harness) {
	u := h.upstream(t)
	var reached []onceward.Reach
	opts := options(u)
	opts.OnReach = func(r onceward.Reach) { reached = append(reached, r) }
	checked := 0
	opts.BeforeWrite = func() error {
		checked++
		if len(u.Requests()) > 0 || len(reached) > 0 && reached[len(reached)-1] > onceward.ReachConnected {
			t.Error("the last check came after bytes had left")
		}
		return nil
	}
	req := h.Write(u.Addr())
	before := copyRequest(req)
	began := time.Now().Round(0)
	ev := h.Open(t).Send(t.Context(), req, opts)
	count(t, u, 1)
	if ev.Status != 200 || ev.Reach != onceward.ReachFirstByte || ev.ErrorClass != onceward.ClassNone || ev.ErrorCode != "" || ev.BodyCut || ev.BodyTooBig || len(ev.Body) == 0 {
		t.Errorf("evidence = %s, want a whole answer", show(ev))
	}
	if ev.RemoteAddr != u.Addr() {
		t.Errorf("remote address = %q, want %q", ev.RemoteAddr, u.Addr())
	}
	if ev.StartedAt.Before(began) || ev.LastByteAt.Before(ev.StartedAt) || ev.EndedAt.Before(ev.LastByteAt) {
		t.Errorf("times are out of order: %v, %v, %v", ev.StartedAt, ev.LastByteAt, ev.EndedAt)
	}
	want := []onceward.Reach{onceward.ReachConnected, onceward.ReachHeadersWritten, onceward.ReachBodyWritten, onceward.ReachFirstByte}
	if !slices.Equal(reached, want) {
		t.Errorf("reached %v, want %v", reached, want)
	}
	if checked != 1 {
		t.Errorf("the last check ran %d times, want once", checked)
	}
	if !reflect.DeepEqual(req, before) {
		t.Error("the request was changed")
	}
}

func copyRequest(r *onceward.Request) *onceward.Request {
	c := *r
	c.Header, c.Body = slices.Clone(r.Header), slices.Clone(r.Body)
	return &c
}

func sameBytes(t *testing.T, h Harness) {
	u := h.upstream(t)
	p := h.Open(t)
	for range 3 {
		if ev := p.Send(t.Context(), h.Write(u.Addr()), options(u)); ev.Status != 200 {
			t.Fatalf("evidence = %s", show(ev))
		}
	}
	seen := u.Await(3)
	for _, s := range seen[1:] {
		if string(s.Raw) != string(seen[0].Raw) {
			t.Errorf("attempts differ on the wire:\n%s\n%s", seen[0].Raw, s.Raw)
		}
	}
}

func parallelWrites(t *testing.T, h Harness) {
	u := h.upstream(t)
	p := h.Open(t)
	const callers, each = 16, 5
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				if ev := p.Send(t.Context(), h.Write(u.Addr()), options(u)); ev.Status != 200 || ev.BodyCut {
					t.Errorf("evidence = %s", show(ev))
				}
			}
		})
	}
	all.Wait()
	count(t, u, callers*each)
}

func serverError(t *testing.T, h Harness) {
	for _, status := range []int{400, 401, 409, 429, 500, 503} {
		u := h.upstream(t, Answer(fmt.Sprintf("HTTP/1.1 %d Word\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}", status)))
		ev := h.Open(t).Send(t.Context(), h.Write(u.Addr()), options(u))
		if ev.Status != status || ev.ErrorClass != onceward.ClassNone || ev.Reach != onceward.ReachFirstByte {
			t.Errorf("%d: evidence = %s", status, show(ev))
		}
		if !slices.Contains(ev.Header, onceward.HeaderField{Name: "Retry-After", Value: "7"}) {
			t.Errorf("%d: header = %v, want Retry-After in it", status, ev.Header)
		}
		count(t, u, 1)
	}
}

func informational(t *testing.T, h Harness) {
	u := h.upstream(t, Answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"+h.Done))
	ev := h.Open(t).Send(t.Context(), h.Write(u.Addr()), options(u))
	if ev.Status != 200 || ev.ErrorClass != onceward.ClassNone {
		t.Errorf("evidence = %s, want the final answer", show(ev))
	}
	count(t, u, 1)
}

func redirects(t *testing.T, h Harness) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		elsewhere := h.upstream(t)
		u := h.upstream(t, Answer(fmt.Sprintf("HTTP/1.1 %d Moved\r\nLocation: http://%s/x\r\nContent-Length: 0\r\n\r\n", status, elsewhere.Addr())))
		opts := options(u)
		opts.Hosts = append(opts.Hosts, elsewhere.Addr())
		ev := h.Open(t).Send(t.Context(), h.Write(u.Addr()), opts)
		if ev.Status != status {
			t.Errorf("%d: evidence = %s", status, show(ev))
		}
		count(t, u, 1)
		count(t, elsewhere, 0)
	}
}

func refused(t *testing.T, h Harness) {
	l := listen(t)
	addr := l.Addr().String()
	_ = l.Close()
	opts := onceward.SendOptions{Write: true, Deadline: 20 * time.Second, Hosts: []string{addr}}
	opts.OnReach = func(r onceward.Reach) { t.Errorf("reached %v", r) }
	ev := h.Open(t).Send(t.Context(), h.Write(addr), opts)
	notSent(t, ev, onceward.ClassConnection)
	if ev.Reach != onceward.ReachNotDialled {
		t.Errorf("reach = %v, want not_dialled", ev.Reach)
	}
}

func offTheList(t *testing.T, h Harness) {
	u := h.upstream(t)
	for _, hosts := range [][]string{nil, {}, {"127.0.0.1:1"}, {"localhost"}, {strings.TrimPrefix(u.Addr(), "127.")}} {
		opts := options(u)
		opts.Hosts = hosts
		notSent(t, h.Open(t).Send(t.Context(), h.Write(u.Addr()), opts), onceward.ClassValidation)
	}
	if n := u.Connections(); n > 0 {
		t.Errorf("%d connections were made, want none", n)
	}
}

// show prints evidence for a failure message, cut where it is long.
func show(ev onceward.Evidence) string {
	return fmt.Sprintf("%.900s", fmt.Sprintf("%+v body %q", ev, ev.Body))
}

// mentions reports whether text stands anywhere in ev.
func mentions(ev onceward.Evidence, text string) bool {
	return strings.Contains(fmt.Sprintf("%+v %s", ev, ev.Body), text)
}
