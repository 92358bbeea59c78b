package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/chaos/internal/record"
	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/internal/history"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// lookEach is how often a long hold is written down, for who is killed in it.
const lookEach = 50 * time.Millisecond

// claim is what an attempt is for.
type claim struct {
	path  string
	paths []string // of the members of a multi-lock
	dirs  []string // where its contenders stand
	mode  history.Mode
	n     int
	limit int
}

// attempt is one call that waits for a grant.
type attempt struct {
	*worker
	claim
	id string
	r  *rand.Rand
}

// ask writes down that an attempt begins.
func (w *worker) ask(ctx context.Context, r *rand.Rand, c claim) (*attempt, context.Context, context.CancelFunc) {
	a := &attempt{worker: w, claim: c, id: w.id(), r: r}
	w.expect(a.id, c.dirs...)
	w.print(record.Line{Event: record.Asked, ID: a.id, Path: c.path, Paths: c.paths, Mode: c.mode, N: c.n, Limit: c.limit})
	wait, cancel := w.patience(ctx, r)
	return a, wait, cancel
}

// refused writes down that an attempt has come to nothing.
func (a *attempt) refused(ctx context.Context, err error) {
	a.print(record.Line{Event: record.Gone, ID: a.id, Err: err.Error()})
	pause(ctx, 10*time.Millisecond)
}

// hold is a grant and what is believed of it.
type hold struct {
	*attempt
	lease *recipes.Lease
	seen  *belief.Observer
	stop  chan struct{}
	done  chan struct{}
}

// begin writes down a grant and looks at it from now on; finish must be called.
func (a *attempt) begin(lease *recipes.Lease) *hold {
	from := a.grantedAt(lease.Token())
	l := record.Line{
		Event: record.Granted, ID: a.id, At: from,
		Token: int64(lease.Token()), Session: lease.Session().ID(), Node: lease.Node(),
	}
	for _, path := range a.paths {
		l.Tokens = append(l.Tokens, int64(lease.TokenOf(path)))
	}
	a.print(l)
	h := &hold{attempt: a, lease: lease, seen: belief.Observe(lease, from), stop: make(chan struct{}), done: make(chan struct{})}
	go h.watch()
	return h
}

// watch writes down what is seen of a hold.
func (h *hold) watch() {
	defer close(h.done)
	tick := time.NewTicker(lookEach)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.tell()
		case <-h.seen.Done():
			h.seen.Stop()
			h.tell()
			if h.seen.Interval().Ended {
				h.print(record.Line{Event: record.Lost, ID: h.id, Err: h.seen.Interval().Err})
			}
			return
		case <-h.stop:
			h.tell()
			return
		}
	}
}

func (h *hold) tell() {
	iv := h.seen.Interval()
	if iv.Until > 0 {
		h.print(record.Line{Event: record.Looked, ID: h.id, At: iv.To, Until: iv.Until})
	}
}

// work holds for a while: most holds are short, one in ten may outlive a session.
func (h *hold) work(ctx context.Context) {
	d := time.Duration(h.r.Int64N(int64(20 * time.Millisecond)))
	if h.r.IntN(10) == 0 && !h.calm.Load() {
		d = time.Duration(h.r.Int64N(int64(h.timeout * 3 / 2)))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.lease.Done():
	case <-ctx.Done():
	}
}

// finish ends the belief, and then calls end, which gives the grant up.
func (h *hold) finish(end func()) {
	at := belief.Now()
	close(h.stop)
	<-h.done
	h.seen.Stop()
	h.print(record.Line{Event: record.Released, ID: h.id, At: at})
	end()
}

// release gives the lease back; where that takes long, the library goes on in
// the background.
func (h *hold) release() {
	h.finish(func() {
		ctx, cancel := context.WithTimeout(context.Background(), h.timeout)
		defer cancel()
		_ = h.lease.Release(ctx)
	})
}
