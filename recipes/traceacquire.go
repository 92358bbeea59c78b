package recipes

import (
	"context"
	"errors"
	"sync/atomic"
)

// calls numbers the calls for a lease of this process.
var calls atomic.Uint64

// TraceAcquire tells the client's Trace that a lease is asked for. The function that
// it returns is to be called once, with what the call returns; the number is that
// of the call, 0 where nobody listens.
func (c *Client) TraceAcquire(ctx context.Context, path string, kind Kind) (call uint64, done func(*Lease, error)) {
	t := &c.cfg.trace
	if t.AcquireStart == nil && t.AcquireDone == nil {
		return 0, unheard
	}
	ev := AcquireEvent{Call: calls.Add(1), Path: path, Kind: kind}
	if fn := t.AcquireStart; fn != nil {
		fn(ctx, ev)
	}
	start := c.cfg.clock()
	return ev.Call, func(l *Lease, err error) {
		if l == nil && err == nil {
			err = errUnwound
		}
		if fn := t.AcquireDone; fn != nil {
			ev.Took, ev.Lease, ev.Err = c.cfg.clock()-start, l, err
			fn(ctx, ev)
		}
	}
}

// errUnwound says that a call has returned nothing at all: a function of its user,
// such as that of lock.WithOnWait, has panicked or ended the goroutine.
var errUnwound = errors.New("recipes: the call did not return")

func unheard(*Lease, error) {}
