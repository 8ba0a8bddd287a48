package agent

import (
	"context"
	"errors"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"countersign/tools"
)

// A run is one trace, however long people let it wait and whichever process goes on
// with it: its acceptance is the root, every stretch of work hangs on that. Names and
// attributes follow OpenTelemetry's conventions for generative AI; what people, the
// model and tools said is never an attribute.

// traceparent is the key of the W3C header, whose form the stored value has.
const traceparent = "traceparent"

// TraceOf names the trace and span of a context; empty when there is none.
func TraceOf(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get(traceparent)
}

// InTrace is a context within a stored trace.
func InTrace(ctx context.Context, stored string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: stored})
}

// accepting is the root of a run's trace.
func (a *Agent) accepting(ctx context.Context, r *Run) (context.Context, trace.Span) {
	ctx, span := a.Tracer.Start(ctx, "invoke_agent "+a.Name, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.agent.name", a.Name),
		attribute.String("gen_ai.conversation.id", r.ID),
		attribute.String("countersign.origin", r.Origin),
	))
	r.Trace = TraceOf(ctx)
	return ctx, span
}

// working is a stretch of work under one lease.
func (a *Agent) working(ctx context.Context, r *Run) (context.Context, trace.Span) {
	return a.Tracer.Start(InTrace(ctx, r.Trace), "run", trace.WithAttributes(
		attribute.String("gen_ai.conversation.id", r.ID),
		attribute.Int64("countersign.lease.epoch", r.Lease.Epoch),
	))
}

// calling is one call of a tool.
func (w *worker) calling(ctx context.Context, s *Step) (context.Context, trace.Span) {
	return w.a.Tracer.Start(ctx, "execute_tool "+s.Tool, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", s.Tool),
		attribute.String("gen_ai.tool.call.id", s.CallID),
		attribute.String("gen_ai.conversation.id", w.run.ID),
		attribute.String("countersign.step", strconv.Itoa(s.N)),
		attribute.String("countersign.risk", string(s.Risk)),
	))
}

// calledTool ends the span of a tool with what kind of failure there was.
func calledTool(span trace.Span, err error) {
	if err != nil {
		kind := "unknown_outcome"
		var known *tools.Failure
		if errors.As(err, &known) {
			kind = known.Code
		}
		span.SetAttributes(attribute.String("error.type", kind))
		span.SetStatus(codes.Error, kind)
	}
	span.End()
}
