package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/integration/chaos/internal/record"
)

// barrier goes in and out with others.
func (w *worker) barrier() (role, error) {
	path := w.root + "/barrier"
	d, err := barrier.NewDouble(w.client, path, participants)
	return func(ctx context.Context, r *rand.Rand) {
		id := w.id()
		w.print(record.Line{Event: record.Entering, ID: id, Path: path, N: participants})
		wait, cancel := w.patience(ctx, r)
		err := d.Enter(wait)
		cancel()
		w.stay(record.Entered, id, err)
		if err != nil {
			pause(ctx, 10*time.Millisecond)
			return
		}
		pause(ctx, time.Duration(r.Int64N(int64(20*time.Millisecond))))
		w.stay(record.Leaving, id, nil)
		wait, cancel = w.patience(ctx, r)
		err = d.Leave(wait)
		cancel()
		w.stay(record.Left, id, err)
	}, err
}

func (w *worker) stay(event record.Event, id string, err error) {
	l := record.Line{Event: event, ID: id}
	if err != nil {
		l.Err = err.Error()
	}
	w.print(l)
}

// patience bounds one wait in four, but in calm.
func (w *worker) patience(ctx context.Context, r *rand.Rand) (context.Context, context.CancelFunc) {
	if r.IntN(4) == 0 && !w.calm.Load() {
		return context.WithTimeout(ctx, time.Duration(r.Int64N(int64(2*w.timeout))))
	}
	return context.WithCancel(ctx)
}
