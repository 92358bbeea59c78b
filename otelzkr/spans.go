package otelzkr

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/zkrecipes/zkrecipes/internal/metering"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// spans are those of calls under way and of leases that are held.
type spans struct {
	tracer trace.Tracer

	mu    sync.Mutex
	calls map[uint64]trace.Span
	holds map[*recipes.Lease]trace.Span
}

func newSpans(t trace.Tracer) *spans {
	return &spans{tracer: t, calls: make(map[uint64]trace.Span), holds: make(map[*recipes.Lease]trace.Span)}
}

func (s *spans) trace() recipes.Trace {
	return recipes.Trace{AcquireStart: s.start, AcquireDone: s.done, Lost: s.over, Released: s.over}
}

func (s *spans) start(ctx context.Context, e recipes.AcquireEvent) {
	_, span := s.tracer.Start(ctx, "acquire "+metering.KindWord(e.Kind),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("zkr.path", e.Path)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[e.Call] = span
}

func (s *spans) done(ctx context.Context, e recipes.AcquireEvent) {
	s.mu.Lock()
	span := s.calls[e.Call]
	delete(s.calls, e.Call)
	s.mu.Unlock()
	if span == nil {
		return
	}
	if e.Lease != nil {
		span.SetAttributes(token(e.Lease))
		s.hold(ctx, e)
	}
	if e.Err != nil {
		outcome := metering.WaitOutcome(e.Err)
		span.SetAttributes(attribute.String("error.type", outcome))
		if !expected[outcome] {
			span.SetStatus(codes.Error, outcome) // the error's text may show a session
		}
	}
	span.End()
}

// expected are the outcomes that callers ask for.
var expected = map[string]bool{"locked": true, "timeout": true, "canceled": true}

// hold begins the span of a lease. One that was lost in this moment may have been
// told of before.
func (s *spans) hold(ctx context.Context, e recipes.AcquireEvent) {
	_, span := s.tracer.Start(ctx, "hold "+metering.KindWord(e.Kind),
		trace.WithAttributes(token(e.Lease), attribute.String("zkr.path", e.Path)))
	s.mu.Lock()
	s.holds[e.Lease] = span
	s.mu.Unlock()
	if err := e.Lease.Err(); err != nil {
		s.end(e.Lease, err)
	}
}

func (s *spans) over(e recipes.LeaseEvent) { s.end(e.Lease, e.Err) }

// end ends the span of a lease, once.
func (s *spans) end(l *recipes.Lease, err error) {
	s.mu.Lock()
	span := s.holds[l]
	delete(s.holds, l)
	s.mu.Unlock()
	if span == nil {
		return
	}
	var lost *recipes.LostError
	if errors.As(err, &lost) {
		span.SetAttributes(attribute.String("zkr.cause", string(lost.Loss())))
		span.SetStatus(codes.Error, string(lost.Loss()))
	}
	span.End()
}

// token tells a lease from others. Its session's id would too, and is as good as the
// session's password to whoever can reach the servers.
func token(l *recipes.Lease) attribute.KeyValue {
	return attribute.Int64("zkr.token", int64(l.Token()))
}
