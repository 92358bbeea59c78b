package otelzkr_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/metering"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/otelzkr"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// bench is a Telemetry with what it has told.
type bench struct {
	*otelzkr.Telemetry
	reader *sdkmetric.ManualReader
	ended  *tracetest.SpanRecorder
	tracer trace.Tracer
}

func newBench(t *testing.T, opts ...otelzkr.Option) *bench {
	t.Helper()
	b := &bench{reader: sdkmetric.NewManualReader(), ended: tracetest.NewSpanRecorder()}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.reader))
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b.ended))
	b.tracer = tracers.Tracer("the caller's")
	var err error
	b.Telemetry, err = otelzkr.New(append([]otelzkr.Option{
		otelzkr.WithMeterProvider(meters), otelzkr.WithTracerProvider(tracers),
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// values returns what a metric tells, by its attributes.
func (b *bench) values(t *testing.T, name string) map[string]any {
	t.Helper()
	synctest.Wait()
	var all metricdata.ResourceMetrics
	require.NoError(t, b.reader.Collect(context.Background(), &all))
	for _, scope := range all.ScopeMetrics {
		require.Equal(t, otelzkr.ScopeName, scope.Scope.Name)
		for _, m := range scope.Metrics {
			if m.Name == name {
				return points(m.Data)
			}
		}
	}
	return nil
}

func points(data metricdata.Aggregation) map[string]any {
	values := make(map[string]any)
	key := func(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }
	switch d := data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			values[key(p.Attributes)] = p.Value
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			values[key(p.Attributes)] = p.Value
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			values[key(p.Attributes)] = p.Value
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			values[key(p.Attributes)] = p.Sum
		}
	}
	return values
}

func TestMetricsOfALifeOfLocks(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		b := newBench(t)
		c := zkrtest.Dial(t, srv, recipes.WithTrace(b.Trace()))
		mu, err := lock.NewMutex(c, "/x")
		require.NoError(t, err)
		l, err := mu.Lock(t.Context())
		require.NoError(t, err)
		next := zkrtest.Go(func() (*recipes.Lease, error) { return mu.Lock(t.Context()) })
		time.Sleep(3 * time.Second)

		require.Equal(t, map[string]any{"zkr.kind=mutex": int64(1)}, b.values(t, "zkr.lease.held"))
		require.Equal(t, map[string]any{"zkr.kind=mutex": int64(1)}, b.values(t, "zkr.wait.active"))
		require.Equal(t, map[string]any{"zkr.kind=mutex": 3.}, b.values(t, "zkr.wait.longest"))
		require.Equal(t, map[string]any{"": l.Remaining().Seconds()}, b.values(t, "zkr.lease.remaining"))
		require.Equal(t, map[string]any{"": 10.}, b.values(t, "zkr.session.timeout"))
		require.Equal(t, map[string]any{"": 0.}, b.values(t, "zkr.session.suspended"))

		require.NoError(t, l.Release(t.Context()))
		l = zkrtest.Granted(t, next, 0)
		require.NoError(t, srv.Delete(l.Node()))
		zkrtest.Ended(t, l, 0)
		require.Equal(t, int64(1), b.values(t, "zkr.lease.lost")["zkr.cause=deleted,zkr.kind=mutex"])
		require.Equal(t, map[string]any{"zkr.kind=mutex,zkr.outcome=granted": 3.}, b.values(t, "zkr.wait.duration"))
		require.Equal(t, map[string]any{"zkr.kind=mutex": int64(0)}, b.values(t, "zkr.lease.held"))
	})
}

func TestLockAttributeIsWhatItsFunctionMakesOfThePath(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		b := newBench(t, otelzkr.WithLockAttribute(func(path string) string { return path[1:] }))
		mu, err := lock.NewMutex(zkrtest.Dial(t, srv, recipes.WithTrace(b.Trace())), "/x")
		require.NoError(t, err)
		_, err = mu.Lock(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[string]any{"zkr.kind=mutex,zkr.lock=x": int64(1)}, b.values(t, "zkr.lease.held"))
		require.Contains(t, b.values(t, "zkr.lease.remaining"), "zkr.lock=x")
	})
}

func TestEveryMetricIsMade(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		b := newBench(t)
		mu, err := lock.NewMutex(zkrtest.Dial(t, srv, recipes.WithTrace(b.Trace())), "/x")
		require.NoError(t, err)
		l, err := mu.Lock(t.Context())
		require.NoError(t, err)
		time.Sleep(zkrtest.Timeout)
		for _, m := range append(metering.Told(), metering.Asked()...) {
			if m != metering.HoldDuration {
				require.NotEmpty(t, b.values(t, m.Name), m.Name)
			}
		}
		require.NoError(t, l.Release(t.Context()))
		require.NotEmpty(t, b.values(t, metering.HoldDuration.Name))
	})
}

func TestRefusedWritesAreCounted(t *testing.T) {
	b := newBench(t)
	g := b.Guard(fence.NewMemory("x"))
	require.NoError(t, g.Install(t.Context(), 34))
	require.ErrorIs(t, g.Install(t.Context(), 33), fence.ErrStale)
	b.Refused(fmt.Errorf("by another check: %w", fence.ErrStale))
	var all metricdata.ResourceMetrics
	require.NoError(t, b.reader.Collect(t.Context(), &all))
	for _, m := range all.ScopeMetrics[0].Metrics {
		if m.Name == "zkr.stale_writes.refused" {
			require.Equal(t, int64(2), points(m.Data)["zkr.reason=superseded"])
			return
		}
	}
	t.Fatal("not told")
}

// span is what a test looks at of one.
type span struct {
	name, parent string
	took         time.Duration
	status       codes.Code
	attributes   map[string]string
}

// spans returns those of the library that have ended, in that order.
func (b *bench) spans() (all []span) {
	names := make(map[trace.SpanID]string)
	for _, s := range b.ended.Started() {
		names[s.SpanContext().SpanID()] = s.Name()
	}
	for _, s := range b.ended.Ended() {
		if s.InstrumentationScope().Name != otelzkr.ScopeName {
			continue
		}
		kvs := make(map[string]string)
		for _, kv := range s.Attributes() {
			kvs[string(kv.Key)] = kv.Value.String()
		}
		all = append(all, span{s.Name(), names[s.Parent().SpanID()], s.EndTime().Sub(s.StartTime()), s.Status().Code, kvs})
	}
	return all
}

func TestCallsAndLeasesAreSpansOfTheirCaller(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		b := newBench(t)
		c := zkrtest.Dial(t, srv, recipes.WithTrace(b.Trace()))
		mu, err := lock.NewMutex(c, "/x")
		require.NoError(t, err)
		ctx, caller := b.tracer.Start(t.Context(), "request")
		first, err := mu.Lock(ctx)
		require.NoError(t, err)
		_, err = mu.TryLock(ctx)
		require.ErrorIs(t, err, lock.ErrLocked)
		next := zkrtest.Go(func() (*recipes.Lease, error) { return mu.Lock(ctx) })
		time.Sleep(3 * time.Second)
		require.NoError(t, first.Release(t.Context()))
		second := zkrtest.Granted(t, next, 0)
		caller.End()
		time.Sleep(2 * time.Second)
		require.NoError(t, srv.Delete(second.Node()))
		zkrtest.Ended(t, second, 0)
		c.Close()
		_, err = mu.Lock(t.Context())
		require.ErrorIs(t, err, recipes.ErrClosed)
		synctest.Wait()

		of := func(l *recipes.Lease, more ...string) map[string]string {
			kvs := map[string]string{"zkr.path": "/x"}
			if l != nil {
				kvs["zkr.token"] = l.Token().String()
			}
			for i := 0; i < len(more); i += 2 {
				kvs[more[i]] = more[i+1]
			}
			return kvs
		}
		require.ElementsMatch(t, []span{
			{"acquire mutex", "request", 0, codes.Unset, of(first)},
			{"acquire mutex", "request", 0, codes.Unset, of(nil, "error.type", "locked")},
			{"hold mutex", "request", 3 * time.Second, codes.Unset, of(first)},
			{"acquire mutex", "request", 3 * time.Second, codes.Unset, of(second)},
			{"hold mutex", "request", 2 * time.Second, codes.Error, of(second, "zkr.cause", "deleted")},
			{"acquire mutex", "", 0, codes.Error, of(nil, "error.type", "closed")},
		}, b.spans())
		require.Len(t, b.ended.Started(), 7, "all have ended")
	})
}

// A session's id is as good as its password to whoever can reach the servers.
func TestSpansAndMetricsShowNoSession(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		b := newBench(t)
		c := zkrtest.Dial(t, srv, recipes.WithTrace(b.Trace()), recipes.WithIdentity("the identity"))
		mu, err := lock.NewMutex(c, "/x")
		require.NoError(t, err)
		l, err := mu.Lock(t.Context())
		require.NoError(t, err)
		srv.On(zktest.Match{Op: zktest.OpCreate}).Error(zktest.NoAuth)
		denied, err := lock.NewMutex(c, "/y")
		require.NoError(t, err)
		_, err = denied.Lock(t.Context())
		id := fmt.Sprintf("%#x", l.Session().ID())
		require.ErrorContains(t, err, id)
		srv.ExpireSession(l.Session().ID())
		<-l.Done()
		synctest.Wait()

		var metrics metricdata.ResourceMetrics
		require.NoError(t, b.reader.Collect(context.Background(), &metrics))
		all := fmt.Sprintf("%+v", metrics.ScopeMetrics)
		for _, s := range tracetest.SpanStubsFromReadOnlySpans(b.ended.Ended()) {
			all += fmt.Sprintf("%+v", s)
		}
		require.Contains(t, all, "hold mutex")
		require.Contains(t, all, "expired")
		for _, secret := range []string{id, id[2:], fmt.Sprint(l.Session().ID()), "the identity"} {
			require.NotContains(t, all, secret)
		}
	})
}

func TestProvidersMustBe(t *testing.T) {
	_, err := otelzkr.New(otelzkr.WithMeterProvider(nil))
	require.Error(t, err)
	_, err = otelzkr.New(otelzkr.WithTracerProvider(nil))
	require.Error(t, err)
	tel, err := otelzkr.New()
	require.NoError(t, err, "the global ones")
	require.NoError(t, tel.Close())
}
