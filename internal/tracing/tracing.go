// Package tracing sends traces to a collector, where one is named by OpenTelemetry's
// own environment variables. Without one nothing is traced and nothing is spent.
package tracing

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Endpoint is the variable that names the collector (OTLP over HTTP). The exporter
// reads it, and the other OTEL_EXPORTER_OTLP_… variables, itself.
const Endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"

// Open gives the provider of tracers, and what sends the rest and ends it. The
// version is that of this program.
func Open(ctx context.Context, lookup func(string) (string, bool), version string) (trace.TracerProvider, func(context.Context) error, error) {
	if at, ok := lookup(Endpoint); !ok || at == "" {
		return noop.NewTracerProvider(), func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("traces (%s): %w", Endpoint, err)
	}
	p := Provider(sdk.NewBatchSpanProcessor(exporter), version)
	return p, p.Shutdown, nil
}

// Provider makes a provider whose spans go to a processor.
func Provider(to sdk.SpanProcessor, version string) *sdk.TracerProvider {
	about := resource.NewSchemaless(attribute.String("service.name", "countersign"), attribute.String("service.version", version))
	return sdk.NewTracerProvider(sdk.WithSpanProcessor(to), sdk.WithResource(about))
}
