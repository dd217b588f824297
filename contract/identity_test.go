package contract

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// Two inputs are two intentions if they differ only far behind, or only in what
// goes into the path, the query or a header and not into the body.
func TestWhateverOfARequestDiffersIsAnotherIntention(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, `  effect: unsafe_write
  key: [input.id]
  volatile: [note]
  request:
    method: POST
    url: 'https://h.example.com/rooms/${input.room}/?notify=${input.notify}'
    headers: {X-Mode: '${input.mode}'}
    json: {text: '${input.text}'}
`)
	long := strings.Repeat("x", 2<<20)
	input := func(room, notify, mode, text string) string {
		return `{"id":"k","note":"n","room":"` + room + `","notify":"` + notify + `","mode":"` + mode + `","text":"` + text + `"}`
	}
	first := mustPrepare(t, tool, input("a", "all", "fast", long))
	if again := mustPrepare(t, tool, strings.Replace(input("a", "all", "fast", long), `"note":"n"`, `"note":"m"`, 1)); again.Digest != first.Digest {
		t.Fatal("a volatile field makes another intention")
	}
	for what, other := range map[string]string{
		"path": input("b", "all", "fast", long), "query": input("a", "none", "fast", long), "header": input("a", "all", "slow", long),
		"end of the text": input("a", "all", "fast", long[1:]+"y"), "length of the text": input("a", "all", "fast", long+"x"),
	} {
		p := mustPrepare(t, tool, other)
		if p.Key != first.Key || p.Digest == first.Digest {
			t.Errorf("another %s: key %s, and the digest is the same: %v", what, p.Key, p.Digest == first.Digest)
		}
		if sameBody := string(p.Request.Body) == string(first.Request.Body); sameBody != (what == "path" || what == "query" || what == "header") {
			t.Errorf("another %s: the body is the same: %v", what, sameBody)
		}
	}
}

// A contract that calls a 429 not done says when to come back, in the words that
// HTTP has for it; without the contract's word a 429 proves nothing.
func TestContractsWordMakesARateLimitNotDone(t *testing.T) {
	t.Parallel()
	const request = "  effect: unsafe_write\n  key: [input.id]\n  request: {method: POST, url: 'https://h.example.com/'}\n"
	word := loadSpec(t, request+`  outcomes:
    - {when: 'response.status == 429', is: not_done, class: rate_limited, retry_after: '${response.headers["retry-after"]}'}
`)
	silent := loadSpec(t, request)
	end := answerOf(429, "").EndedAt
	for said, want := range map[string]time.Duration{"90": 90 * time.Second, end.Add(2 * time.Minute).Format(http.TimeFormat): 2 * time.Minute, "": 0} {
		header := []string{"Retry-After", said}
		if said == "" {
			header = nil
		}
		if j := word.Judge(&onceward.Operation{}, answerOf(429, "", header...)); j.Verdict != onceward.VerdictNotDone || j.Failure.Class != onceward.ClassRateLimited || !j.Failure.Retryable || j.RetryAfter != want {
			t.Errorf("Retry-After %q by the contract's word: %+v, want not done, again after %s", said, j, want)
		}
		if j := silent.Judge(&onceward.Operation{}, answerOf(429, "", header...)); j.Verdict != onceward.VerdictUnknown || j.RetryAfter != want {
			t.Errorf("Retry-After %q without a word: %+v, want unknown", said, j)
		}
	}
}
