package mcpgateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// talker is an MCP server whose tool createTicket tells of progress, and waits.
type talker struct {
	mu    sync.Mutex
	calls int
	begun chan struct{}
	talk  chan string // what it says: progress,total
}

func (d *talker) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var m message
	_ = json.Unmarshal(body, &m)
	answer := func(value string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, value)
	}
	switch {
	case len(m.ID) == 0:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize":
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"talker","version":"1"}}`)
	case m.Method == "tools/list":
		answer(`{"tools":[{"name":"createTicket","inputSchema":{"type":"object"}}]}`)
	case m.Method == "tools/call":
		d.mu.Lock()
		d.calls++
		d.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		flush := http.NewResponseController(w)
		_ = flush.Flush()
		close(d.begun)
		token := mustMarshal(m.Params.Meta["progressToken"])
		for said := range d.talk {
			value, total, _ := strings.Cut(said, ",")
			_, _ = fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%s,\"total\":%s,\"message\":\"row %s\"}}\n\n", token, value, total, value)
			_ = flush.Flush()
		}
		_, _ = fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"made\"}]}}\n\n", m.ID)
	default:
		answer(`{}`)
	}
}

// ear is what one caller heard.
type ear struct {
	mu     sync.Mutex
	values []float64
	words  []string
}

func (e *ear) hear(value float64, word string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.values, e.words = append(e.values, value), append(e.words, word)
}

func (e *ear) heard() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.words)
}

// Write implements io.Writer: each event of a stream is a word.
func (e *ear) Write(p []byte) (int, error) {
	for range strings.Count(string(p), "notifications/progress") {
		e.hear(0, string(p))
	}
	return len(p), nil
}

func TestWhatAServerSaysOfProgressReachesEveryCallerThatAsked(t *testing.T) {
	t.Parallel()
	d := &talker{begun: make(chan struct{}), talk: make(chan string)}
	w := newBehind(t, d, deskWrites, func(o *Options) { o.AnswerWithin = 20 * time.Second })
	ears := [4]*ear{{}, {}, {}, {}}
	var answers [4]string
	var all sync.WaitGroup
	for i, version := range []string{"2025-11-25", "2026-07-28", "2026-07-28"} {
		s := w.client(version, headers{"Authorization": "Bearer ada"}, func(o *mcp.ClientOptions) {
			o.ProgressNotificationHandler = func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				ears[i].hear(req.Params.Progress, req.Params.Message)
			}
		})
		var meta mcp.Meta
		if i < 2 {
			meta = mcp.Meta{"progressToken": fmt.Sprint("p", i)}
		}
		all.Go(func() { answers[i] = text(w.call(s, "desk.create", `{"id":"a"}`, meta)) })
	}
	<-d.begun
	all.Go(func() {
		body := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"createTicket","arguments":{"id":"a"},"_meta":{"progressToken":77}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+"/mcp/desk", strings.NewReader(body))
		w.must(err)
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer ada")
		res, err := http.DefaultClient.Do(req)
		w.must(err)
		defer res.Body.Close()
		raw, err := io.ReadAll(io.TeeReader(res.Body, ears[3]))
		w.must(err)
		answers[3] = string(raw)
	})
	until := time.Now().Add(10 * time.Second)
	for n := 1; ears[0].heard() < 2 || ears[1].heard() < 2 || ears[3].heard() < 2; n++ {
		if time.Now().After(until) {
			t.Fatalf("the callers heard %d, %d and %d words", ears[0].heard(), ears[1].heard(), ears[3].heard())
		}
		d.talk <- fmt.Sprintf("%d.5,1000000", n)
	}
	close(d.talk)
	all.Wait()
	for _, e := range ears[:2] {
		if !slices.IsSorted(e.values) || !strings.HasPrefix(e.words[1], "row ") {
			t.Errorf("a caller heard %v %v", e.values, e.words)
		}
	}
	if ears[2].heard() != 0 {
		t.Errorf("a caller that had not asked heard %v", ears[2].words)
	}
	for _, want := range []string{`"progressToken":77`, `"message":"row `, `"total":1000000`, `"id":5`} {
		if !strings.Contains(answers[3], want) {
			t.Errorf("the relayed call lacks %s: %s", want, answers[3])
		}
	}
	for i, answer := range answers {
		if !strings.Contains(answer, "made") {
			t.Errorf("caller %d is answered %s", i, answer)
		}
	}
	if d.calls != 1 {
		t.Errorf("%d calls", d.calls)
	}
}

func TestValuesOfProgressRiseWhoeverSaysThem(t *testing.T) {
	t.Parallel()
	tell := &teller{}
	var values []float64
	say := func(p float64) {
		if p > tell.last {
			tell.last, values = p, append(values, p)
		}
	}
	say(tell.ours(5 * time.Second).Done)
	say(tell.theirs(onceward.Progress{Done: 0.1, Total: 1}).Done)
	say(tell.ours(10 * time.Second).Done)
	say(tell.theirs(onceward.Progress{Done: 0.1, Total: 1}).Done)
	last := tell.theirs(onceward.Progress{Done: 1, Total: 1})
	say(last.Done)
	if len(values) != 4 || !slices.IsSorted(values) || last.Done != last.Total || last.Total != 6 {
		t.Errorf("the values are %v, the last is %+v", values, last)
	}
}
