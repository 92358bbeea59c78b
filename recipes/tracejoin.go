package recipes

import "context"

// JoinTraces returns a Trace that calls the functions of all the given ones, in
// their order.
func JoinTraces(traces ...Trace) Trace {
	var all Trace
	for _, t := range traces {
		all = Trace{
			AcquireStart: joinCalls(all.AcquireStart, t.AcquireStart),
			AcquireDone:  joinCalls(all.AcquireDone, t.AcquireDone),
			SessionState: joinEvents(all.SessionState, t.SessionState),
			Renewed:      joinEvents(all.Renewed, t.Renewed),
			Enqueued:     joinEvents(all.Enqueued, t.Enqueued),
			Waiting:      joinEvents(all.Waiting, t.Waiting),
			Granted:      joinEvents(all.Granted, t.Granted),
			Lost:         joinEvents(all.Lost, t.Lost),
			Released:     joinEvents(all.Released, t.Released),
			CleanedUp:    joinEvents(all.CleanedUp, t.CleanedUp),
			Overrun:      joinEvents(all.Overrun, t.Overrun),
			Stranger:     joinEvents(all.Stranger, t.Stranger),
			TimerFired:   joinEvents(all.TimerFired, t.TimerFired),
		}
	}
	return all
}

func joinEvents[E any](a, b func(E)) func(E) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(e E) { a(e); b(e) }
}

func joinCalls(a, b func(context.Context, AcquireEvent)) func(context.Context, AcquireEvent) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(ctx context.Context, e AcquireEvent) { a(ctx, e); b(ctx, e) }
}
