package otelzkr_test

import (
	"context"
	"fmt"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/otelzkr"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A server in this process stands in for an ensemble, and readers in memory for
// exporters. Without the options it is the global providers that are told.
func Example() {
	ctx := context.Background()
	srv, err := zktest.New()
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()

	tel, err := otelzkr.New(
		otelzkr.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))),
		otelzkr.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))),
	)
	if err != nil {
		panic(err)
	}
	defer tel.Close()
	c, err := recipes.Dial(ctx, srv.ConnectString(), recipes.WithTrace(tel.Trace()))
	if err != nil {
		panic(err)
	}
	defer c.Close()

	mu, err := lock.NewMutex(c, "/locks/report")
	if err != nil {
		panic(err)
	}
	err = mu.Do(ctx, func(context.Context, *recipes.Lease) error {
		fmt.Println("held:", held(ctx, reader))
		return nil
	})
	fmt.Println("held:", held(ctx, reader), err)
	for _, s := range spans.Ended() {
		fmt.Println(s.Name())
	}
	// Output:
	// held: 1
	// held: 0 <nil>
	// acquire mutex
	// hold mutex
}

// held returns the value of zkr.lease.held.
func held(ctx context.Context, reader sdkmetric.Reader) int64 {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		panic(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "zkr.lease.held" {
				return sum.DataPoints[0].Value
			}
		}
	}
	return 0
}
