package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/onceward/onceward"
)

// collected runs an OTLP collector and returns what reaches it.
func collected(t *testing.T) (url string, spans <-chan *v1.Span) {
	t.Helper()
	got := make(chan *v1.Span, 16)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var r collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &r)
		}
		if err != nil {
			t.Errorf("the collector cannot read %s: %v", req.URL.Path, err)
		}
		for _, rs := range r.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					got <- s
				}
			}
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, got
}

func TestAnAttemptReachesTheCollectorWithItsEvidenceUnderTheCallersTrace(t *testing.T) {
	url, spans := collected(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
	tracer, err := NewTracer(t.Context(), "test", func(name string) string {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return url
		}
		return ""
	}, slog.New(slog.DiscardHandler))
	if err != nil || tracer == nil {
		t.Fatalf("no tracer: %v", err)
	}
	tracer.Exchanged(onceward.Span{What: onceward.SpanAttempt, TraceID: [16]byte{1}, SpanID: [8]byte{2}, ParentID: [8]byte{3}, Sampled: true, Operation: onceward.OperationID{4},
		Attempt: 2, Tool: "tickets.create", Effect: onceward.EffectProbedWrite, Method: "POST", Host: "tickets.test", StartedAt: time.Unix(100, 0), EndedAt: time.Unix(101, 0),
		Reach: onceward.ReachBodyWritten, Outcome: "unknown", Class: onceward.ClassTimeout, Code: "deadline"})
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := <-spans
	attributes := map[string]string{}
	for _, a := range s.Attributes {
		attributes[a.Key] = strings.Trim(a.Value.String(), " ")
	}
	switch {
	case s.Name != "attempt tickets.create" || s.TraceId[0] != 1 || s.SpanId[0] != 2 || s.ParentSpanId[0] != 3:
		t.Errorf("the span is %v", s)
	case s.EndTimeUnixNano-s.StartTimeUnixNano != uint64(time.Second) || s.Status.GetCode() != v1.Status_STATUS_CODE_ERROR:
		t.Errorf("the span is %v", s)
	}
	for key, want := range map[string]string{"onceward.attempt": "2", "onceward.reach": "body_written", "onceward.outcome": "unknown", "error.type": "timeout", "onceward.code": "deadline"} {
		if !strings.Contains(attributes[key], want) {
			t.Errorf("%s is %q, want %s", key, attributes[key], want)
		}
	}
}

func TestSpansAreSentOnlyWhereTheStandardVariablesAskForThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		code onceward.Code
	}{
		"NoCollector": {map[string]string{}, ""},
		"Disabled":    {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, ""},
		"NoExporter":  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, ""},
		"Grpc":        {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, onceward.CodeConfigInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracer, err := NewTracer(t.Context(), "test", func(n string) string { return c.env[n] }, slog.New(slog.DiscardHandler))
			if tracer != nil || onceward.CodeOf(err) != c.code {
				t.Errorf("got %v, %v", tracer, err)
			}
		})
	}
}
