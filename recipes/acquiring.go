package recipes

import (
	"context"
	"sync/atomic"
)

// calls numbers the calls for a lease of this process.
var calls atomic.Uint64

// Acquiring tells the client's Trace that a lease is asked for. The function that
// it returns is to be called once, with what the call returns; the number is that
// of the call, 0 where nobody listens.
func (c *Client) Acquiring(ctx context.Context, path string, kind Kind) (call uint64, done func(*Lease, error)) {
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
		if fn := t.AcquireDone; fn != nil {
			ev.Took, ev.Lease, ev.Err = c.cfg.clock()-start, l, err
			fn(ctx, ev)
		}
	}
}

func unheard(*Lease, error) {}
