package main

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/integration/chaos/internal/record"
	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/internal/history"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// permits is the semaphore's limit, and participants how many go through the
// barrier together.
const (
	permits      = 3
	participants = 3
)

// role is one turn of something.
type role func(context.Context, *rand.Rand)

// roles returns what a worker does side by side.
func (w *worker) roles() ([]role, error) {
	var all []role
	for _, make := range []func() (role, error){
		w.mutex, w.readWrite, w.semaphore, w.multi, w.election, w.barrier, w.zkRegister, w.sqlRegister,
	} {
		r, err := make()
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// turn takes something, holds it for a while and gives it back.
func (w *worker) turn(ctx context.Context, r *rand.Rand, c claim, take func(context.Context) (*recipes.Lease, error)) {
	a, wait, cancel := w.ask(ctx, r, c)
	lease, err := take(wait)
	cancel()
	if err != nil {
		a.refused(ctx, err)
		return
	}
	h := a.begin(lease)
	h.work(ctx)
	h.release()
}

func (w *worker) mutex() (role, error) {
	path := w.root + "/mutex"
	m, err := lock.NewMutex(w.client, path)
	return func(ctx context.Context, r *rand.Rand) {
		w.turn(ctx, r, claim{path: path, dirs: []string{path}, mode: history.Exclusive}, m.Lock)
	}, err
}

func (w *worker) semaphore() (role, error) {
	path := w.root + "/semaphore"
	s, err := lock.NewSemaphore(w.client, path, permits)
	return func(ctx context.Context, r *rand.Rand) {
		n := 1 + r.IntN(2)
		w.turn(ctx, r, claim{path: path, dirs: []string{path + "/locks"}, mode: history.Permits, n: n, limit: permits},
			func(ctx context.Context) (*recipes.Lease, error) { return s.AcquireN(ctx, n) })
	}, err
}

func (w *worker) multi() (role, error) {
	a, b, c := w.root+"/multi-a", w.root+"/multi-b", w.root+"/multi-c"
	left, err := lock.NewMulti(w.client, []string{a, b})
	if err != nil {
		return nil, err
	}
	right, err := lock.NewMulti(w.client, []string{c, b})
	return func(ctx context.Context, r *rand.Rand) {
		m, paths := left, []string{a, b}
		if r.IntN(2) == 0 {
			m, paths = right, []string{b, c}
		}
		w.turn(ctx, r, claim{path: w.root + "/multi", paths: paths, dirs: paths, mode: history.Exclusive}, m.Lock)
	}, err
}

// readWrite is a writer once in three times, and then, once in three, a reader
// after it without a gap.
func (w *worker) readWrite() (role, error) {
	path := w.root + "/readwrite"
	rw, err := lock.NewRWMutex(w.client, path)
	return func(ctx context.Context, r *rand.Rand) {
		c := claim{path: path, dirs: []string{path}, mode: history.Shared}
		if r.IntN(3) > 0 {
			w.turn(ctx, r, c, rw.RLock)
			return
		}
		c.mode = history.Exclusive
		a, wait, cancel := w.ask(ctx, r, c)
		lease, err := rw.Lock(wait)
		cancel()
		if err != nil {
			a.refused(ctx, err)
			return
		}
		h := a.begin(lease)
		h.work(ctx)
		if r.IntN(3) > 0 {
			h.release()
			return
		}
		w.downgrade(ctx, rw, h)
	}, err
}

// downgrade ends a writer's hold and begins a reader's of the same lease.
func (w *worker) downgrade(ctx context.Context, rw *lock.RWMutex, h *hold) {
	var err error
	h.finish(func() {
		ctx, cancel := context.WithTimeout(ctx, h.timeout)
		defer cancel()
		err = rw.Downgrade(ctx, h.lease)
	})
	if err != nil {
		_ = h.lease.Release(context.Background())
		return
	}
	c := h.claim
	c.mode = history.Shared
	a := &attempt{worker: w, claim: c, id: w.id(), r: h.r}
	now := belief.Now()
	w.print(record.Line{Event: record.Asked, ID: a.id, At: now, Path: c.path, Mode: c.mode})
	w.mu.Lock()
	w.granted[h.lease.Token()] = now
	w.mu.Unlock()
	reader := a.begin(h.lease)
	reader.work(ctx)
	reader.release()
}

// election leads in both ways, a term at a time.
func (w *worker) election() (role, error) {
	path := w.root + "/election"
	e, err := election.New(w.client, path, election.WithID(w.name))
	return func(ctx context.Context, r *rand.Rand) {
		a, wait, cancel := w.ask(ctx, r, claim{path: path, dirs: []string{path}, mode: history.Exclusive})
		defer cancel()
		if r.IntN(2) == 0 {
			campaign(wait, a, e)
		} else {
			run(wait, cancel, a, e)
		}
	}, err
}

func campaign(ctx context.Context, a *attempt, e *election.Election) {
	term, err := e.Campaign(ctx)
	if err != nil {
		a.refused(ctx, err)
		return
	}
	h := a.begin(term.Lease())
	h.work(ctx)
	h.finish(func() { _ = term.Resign(context.Background()) })
}

// run leads for one term: what it believes ends before its function returns.
func run(ctx context.Context, cancel context.CancelFunc, a *attempt, e *election.Election) {
	led := false
	err := e.Run(ctx, func(ctx context.Context, term *election.Term) error {
		led = true
		h := a.begin(term.Lease())
		h.work(ctx)
		h.finish(cancel)
		return nil
	})
	if !led {
		a.refused(ctx, errors.Join(err, ctx.Err()))
	}
}
