package onceward

import (
	"slices"
	"testing"
)

func TestReplayedHeadersLeaveOutWhatBelongsToTheFirstDelivery(t *testing.T) {
	t.Parallel()
	first := []HeaderField{
		{"Connection", "keep-alive, X-Hop"}, {"Content-Encoding", "gzip"}, {"Content-Length", "12"}, {"content-type", "application/json"},
		{"Date", "Mon, 01 Jan 2024 00:00:00 GMT"}, {"ETag", `"7"`}, {"Keep-Alive", "timeout=5"}, {"Link", "<a>; rel=next"}, {"Link", "<b>; rel=prev"},
		{"Location", "/tickets/7"}, {"Proxy-Authenticate", "Basic"}, {"SET-COOKIE", "sid=1"}, {"Server", "nginx"}, {"Transfer-Encoding", "chunked"},
		{"WWW-Authenticate", "Bearer"}, {"X-Hop", "1"}, {"X-Request-Id", "r1"}, {"Authorization", "Bearer t"},
	}
	before := slices.Clone(first)
	got := ReplayableHeader(first)
	want := []HeaderField{
		{"content-type", "application/json"}, {"ETag", `"7"`}, {"Link", "<a>; rel=next"}, {"Link", "<b>; rel=prev"},
		{"Location", "/tickets/7"}, {"X-Request-Id", "r1"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("replayable = %v\nwant %v", got, want)
	}
	if !slices.Equal(first, before) {
		t.Error("the argument was changed")
	}
	if got := ReplayableHeader([]HeaderField{{"Date", "x"}}); got != nil {
		t.Errorf("nothing left = %v, want nil", got)
	}
}
