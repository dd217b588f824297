package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/onceward/onceward"
)

// Tracer sends the exchanges with providers to an OTLP collector over HTTP. Make
// one with NewTracer.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

var _ onceward.Tracer = (*Tracer)(nil)

// NewTracer returns a tracer where the standard variables name a collector
// (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT), and nil
// where none does, or where OTEL_SDK_DISABLED is true or OTEL_TRACES_EXPORTER is
// none. The other variables of the exporter, its batches, the sampler and the
// resource are the SDK's to read. CodeConfigInvalid: a protocol that is not
// spoken is asked for.
func NewTracer(ctx context.Context, version string, get func(string) string, log *slog.Logger) (*Tracer, error) {
	endpoint := get("OTEL_EXPORTER_OTLP_ENDPOINT") + get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if endpoint == "" || get("OTEL_SDK_DISABLED") == "true" || get("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	protocol := get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = get("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	if protocol != "" && protocol != "http/protobuf" {
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: "spans are sent by OTLP over HTTP only (http/protobuf)",
			Hint: "leave OTEL_EXPORTER_OTLP_PROTOCOL out, and name the collector's HTTP port, which is usually 4318"}
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: "the collector that OTEL_EXPORTER_OTLP_… name cannot be used", Err: err}
	}
	named, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "onceward"), attribute.String("service.version", version)),
		resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: "OTEL_RESOURCE_ATTRIBUTES cannot be read", Err: err}
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans not sent", "error", err) }))
	return tracerOver(sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(named), sdk.WithIDGenerator(givenIDs{}))), nil
}

func tracerOver(p *sdk.TracerProvider) *Tracer {
	return &Tracer{provider: p, tracer: p.Tracer("github.com/onceward/onceward")}
}

// Close sends what waits, up to the context's end.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Exchanged implements onceward.Tracer.
func (t *Tracer) Exchanged(s onceward.Span) {
	ctx := context.WithValue(context.Background(), idsKey{}, ids{s.TraceID, s.SpanID})
	if s.ParentID != [8]byte{} {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: s.TraceID, SpanID: s.ParentID, TraceFlags: trace.TraceFlags(0).WithSampled(s.Sampled), Remote: true}))
	}
	_, span := t.tracer.Start(ctx, s.What+" "+string(s.Tool), trace.WithTimestamp(s.StartedAt), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes(&s)...))
	if s.Class != onceward.ClassNone || s.Outcome == onceward.VerdictUnknown.String() {
		span.SetStatus(codes.Error, s.Code)
	}
	span.End(trace.WithTimestamp(s.EndedAt))
}

// attributes are the evidence of an exchange, without a word of what was sent or
// answered.
func attributes(s *onceward.Span) []attribute.KeyValue {
	out := []attribute.KeyValue{
		attribute.String("onceward.operation", s.Operation.String()), attribute.Int("onceward.attempt", s.Attempt), attribute.String("onceward.tool", string(s.Tool)),
		attribute.String("onceward.effect", s.Effect.String()), attribute.String("onceward.contract", s.Contract), attribute.String("onceward.outcome", s.Outcome),
		attribute.String("onceward.reach", s.Reach.String()), attribute.Bool("onceward.resend", s.Resend), attribute.Int("onceward.answer_bytes", s.AnswerBytes),
		attribute.String("http.request.method", s.Method), attribute.String("server.address", s.Host),
	}
	if s.CorrelationID != "" {
		out = append(out, attribute.String("onceward.correlation_id", s.CorrelationID))
	}
	if s.Status != 0 {
		out = append(out, attribute.Int("http.response.status_code", s.Status))
	}
	if s.Class != onceward.ClassNone {
		out = append(out, attribute.String("error.type", s.Class.String()), attribute.String("onceward.code", s.Code))
	}
	return out
}

// idsKey leads to the IDs that the engine chose: the provider was told of them
// before the span began.
type idsKey struct{}

type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// givenIDs names spans as the engine did.
type givenIDs struct{}

// NewIDs implements sdk.IDGenerator.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	given, _ := ctx.Value(idsKey{}).(ids)
	return given.trace, given.span
}

// NewSpanID implements sdk.IDGenerator.
func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	given, _ := ctx.Value(idsKey{}).(ids)
	return given.span
}
