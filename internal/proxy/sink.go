package proxy

import (
	"mime"
	"net/http"
	"sync"

	"github.com/onceward/onceward"
)

// sinkBytesMax bounds what one waiting request keeps of an answer: what is read
// to judge it at most.
const sinkBytesMax = 64 << 20

// sink hears an answer while it comes. A stream of events is handed on at once;
// anything else is kept until the outcome is recorded.
type sink struct {
	moved chan struct{} // has room for one: something came

	mu     sync.Mutex
	status int
	header []onceward.HeaderField
	body   []byte
	live   bool // a stream that is handed on
	cut    bool // more came than is kept
	heard  bool // an answer came since the last End
	ended  bool
	whole  bool
}

func newSink() *sink { return &sink{moved: make(chan struct{}, 1)} }

// Head implements onceward.AnswerTap.
func (s *sink) Head(status int, header []onceward.HeaderField) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		return // the caller has the start of another attempt's answer
	}
	s.status, s.header, s.body, s.cut, s.heard, s.ended = status, header, nil, false, true, false
	s.live = status/100 == 2 && streams(header)
	s.notify()
}

// Body implements onceward.AnswerTap.
func (s *sink) Body(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.heard || s.cut {
		return
	}
	if s.cut = len(s.body)+len(p) > sinkBytesMax; s.cut {
		s.body = nil
		return
	}
	s.body = append(s.body, p...)
	s.notify()
}

// End implements onceward.AnswerTap.
func (s *sink) End(whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.heard && !s.live {
		s.status, s.header, s.body = 0, nil, nil // a later attempt got no answer
	}
	if s.heard || !s.live {
		s.ended, s.whole = true, whole && !s.cut
	}
	s.heard = false
	s.notify()
}

func (s *sink) notify() {
	if s.live {
		select {
		case s.moved <- struct{}{}:
		default:
		}
	}
}

// streaming reports whether an answer is handed on while it comes.
func (s *sink) streaming() (status int, header []onceward.HeaderField, live bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.header, s.live
}

// from is what came after the first n bytes.
func (s *sink) from(n int) (p []byte, ended, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.body[min(n, len(s.body)):len(s.body):len(s.body)], s.ended || s.cut, s.whole && !s.cut
}

// answer is the last attempt's whole answer; ok is false if there is none.
func (s *sink) answer() (r onceward.Result, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return onceward.Result{Status: s.status, Header: s.header, Body: s.body, BodyKept: true}, s.status != 0 && s.ended && s.whole
}

// streams reports whether an answer is a stream of events.
func streams(header []onceward.HeaderField) bool {
	for _, f := range header {
		if http.CanonicalHeaderKey(f.Name) != "Content-Type" {
			continue
		}
		kind, _, _ := mime.ParseMediaType(f.Value)
		return kind == "text/event-stream" || kind == "application/x-ndjson"
	}
	return false
}
