package onceward_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// jsonLog is a log as a collector reads it.
type jsonLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *jsonLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// all reads every line; one that is not JSON fails the test.
func (l *jsonLog) all(t *testing.T) (out []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.SplitSeq(strings.TrimSuffix(l.buf.String(), "\n"), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("a line is no JSON: %q", line)
		}
		out = append(out, m)
	}
	return out
}

// Every kind of trouble, with a mark in the input, the key and the wording, and
// with line feeds where a caller may put text: no line holds the mark, and none is
// forged.
func TestNoLogLineHoldsAPayloadAndNoCallerCanForgeOne(t *testing.T) {
	t.Parallel()
	const mark = "sk_live_4242424242"
	const forged = "a\n{\"level\":\"ERROR\",\"msg\":\"forged\"}"
	for _, effect := range []onceward.EffectClass{onceward.EffectKeyedWrite, onceward.EffectProbedWrite, onceward.EffectUnsafeWrite} {
		var log jsonLog
		w := newWorld(t, oncewardtest.NewTool("t.write", effect), func(o *onceward.Options) {
			o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		for i, fault := range []oncewardtest.Fault{oncewardtest.FaultNone, oncewardtest.FaultAnswerLost, oncewardtest.FaultRequestLost, oncewardtest.FaultErrorAfter, oncewardtest.FaultInvalid, oncewardtest.FaultRateLimited} {
			w.provider.Script(fault)
			_, err := w.try(`{"id":"`+mark+string(rune('a'+i))+`","text":"`+mark+`","amount":1}`, func(in *onceward.Intent) { in.CorrelationID = forged })
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.try(`{"id":"` + mark + string(rune('a'+i)) + `","text":"` + mark + `","amount":2}`); !onceward.Is(err, onceward.CodeKeyReused) {
				t.Fatalf("another input is answered %v", err)
			}
		}
		w.passSlowly(time.Minute, 5*time.Second)
		w.store.GoAway()
		_, _ = w.submit(`{"id":"` + mark + `z"}`)
		w.store.ComeBack()
		attempts := 0
		for _, line := range log.all(t) {
			if line["msg"] == "forged" {
				t.Errorf("%s: a caller forged a line", effect)
			}
			if line["msg"] == "attempt judged" {
				attempts++
				if line["operation"] == "" || line["attempt"] == nil || line["correlation_id"] != forged {
					t.Errorf("%s: the line of an attempt is %v", effect, line)
				}
			}
		}
		if attempts < 6 {
			t.Errorf("%s: %d attempts have a line", effect, attempts)
		}
		if strings.Contains(log.buf.String(), mark) {
			t.Errorf("%s: the log holds what was to be sent:\n%s", effect, log.buf.String())
		}
	}
}
